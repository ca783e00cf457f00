"""What was made on the meta device, with shapes and no values, is made on a device that has them.

``low_cpu_mem_usage=True`` of PEFT's ``add_adapter`` makes weights of shapes alone, for a checkpoint that is to come;
``init_empty_weights(include_buffers=True)`` of accelerate makes buffers so as well, which no checkpoint may have.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, keyword, without_keywords
from devsan.fix.change import DRAWS, Change
from devsan.fix.failure import Failure
from devsan.fix.source import Source, source_of

_DOUBT = 15
_LATER = "low_cpu_mem_usage"
_BUFFERS = "include_buffers"
_SKELETONS = {"init_empty_weights": 0, "init_on_device": 1}
"""accelerate's functions that take it, and where."""


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the program with another device for each "meta" in it."""
    devices = {operand["device"] for operand in failure.operands}
    if failure.finding["kind"] != "meta" and "meta" not in devices:
        return
    wanted = sorted(devices - {"meta", "cpu"}) or ["cuda"]
    for path in failure.own_paths:
        source = source_of(path)
        if source is not None:
            yield from _at_once(source)
            yield from _with_buffers(source)
            for device in wanted:
                yield from _elsewhere(source, device)


def _at_once(source: Source) -> Iterator[Change]:
    for call in ast.walk(source.tree):
        given = keyword(call, _LATER) if isinstance(call, ast.Call) else None
        is_off = given is None or (isinstance(given, ast.Constant) and not given.value)
        if isinstance(call, ast.Call) and not is_off:
            text = message("leave out {names}: nothing is loaded later", names=_LATER)
            yield Change(text, "creation_site", (without_keywords(source, call, (_LATER,)),), doubt=_DOUBT - 1)


def _with_buffers(source: Source) -> Iterator[Change]:
    """``include_buffers=True`` of accelerate's ``init_empty_weights``: no checkpoint has what is not persistent."""
    for call in ast.walk(source.tree):
        if not isinstance(call, ast.Call) or function_name(call) not in _SKELETONS:
            continue
        at = _SKELETONS[function_name(call)]
        given = keyword(call, _BUFFERS) or next(iter(call.args[at : at + 1]), None)
        if isinstance(given, ast.Constant) and given.value is True:
            text = message("make the buffers with their values: {argument}", argument=f"{_BUFFERS}=False")
            yield Change(text, "creation_site", (source.replace(given, "False"),), doubt=_DOUBT - 2)


def _elsewhere(source: Source, device: str) -> Iterator[Change]:
    places = [node for node in ast.walk(source.tree) if isinstance(node, ast.Constant) and node.value == "meta"]
    text = message("make on {device} what is made on the meta device", device=device)
    for place in places:
        yield Change(text, "creation_site", (source.replace(place, f'"{device}"'),), doubt=_DOUBT, alters=DRAWS)
    if len(places) > 1:
        edits = tuple(source.replace(place, f'"{device}"') for place in places)
        yield Change(text, "creation_site", edits, doubt=_DOUBT + 1, alters=DRAWS)
