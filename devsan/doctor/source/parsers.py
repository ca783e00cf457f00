"""argparse: what a program has where nobody says otherwise.

Devices and sizes count. What a launcher sets (ranks, GPUs) and what is a switch has no value: users and launchers give
it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from devsan.doctor.source.objects import Object, State
from devsan.doctor.source.values import NONE, UNKNOWN, Const, Sequence, Value

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter

_SET_BY_OTHERS = re.compile(r"rank|gpu|world|node|device_id|local|seed|resume|start")


def method(run: Interpreter, holder: Object, name: str, given: Arguments) -> Value:
    """Returns what a method of an ArgumentParser gives."""
    if name == "add_argument":
        _add(holder, given)
        return UNKNOWN
    if name == "set_defaults":
        for key, value in given.named.items():
            holder.state.attributes[key] = _known(key, value)
        return UNKNOWN
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return holder
    if name in ("parse_args", "parse_known_args"):
        made = Object(State("argparse.Namespace", attributes=dict(holder.state.attributes)), run.regions)
        return made if name == "parse_args" else Sequence((made, UNKNOWN))
    return UNKNOWN


def _add(holder: Object, given: Arguments) -> None:
    flags = [each.value for each in given.values if isinstance(each, Const) and isinstance(each.value, str)]
    long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
    named = given.get("dest")
    name = str(named.value) if isinstance(named, Const) else long.lstrip("-").replace("-", "_")
    if name:
        default = given.get("default")
        holder.state.attributes[name] = UNKNOWN if default is None else _known(name, default)


def _known(name: str, value: Value) -> Value:
    if _SET_BY_OTHERS.search(name) or not isinstance(value, Const) or value == NONE:
        return UNKNOWN
    if isinstance(value.value, str):
        return value if value.value.startswith("cuda") else UNKNOWN
    return value if type(value.value) in (int, float) else UNKNOWN
