"""A process group of NCCL alone gets a backend for tensors of the CPU, where a collective is given one.

What FSDP offloads is reduced on the CPU by torch itself, so that no tensor of the program's can be moved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure, source_of
from devsan.numbers.host_collectives import BOTH

_DOUBT = 8  # behind a tensor that is made on the rank's GPU


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``init_process_group`` with both backends."""
    if failure.finding["kind"] != "group":
        return
    for path in failure.own_paths:
        source = source_of(path)
        for call in ast.walk(source.tree) if source is not None else ():
            if not isinstance(call, ast.Call) or function_name(call) != "init_process_group" or source is None:
                continue
            for given in (*call.args[:1], *(each.value for each in call.keywords if each.arg == "backend")):
                if isinstance(given, ast.Constant) and given.value == "nccl":
                    text = message("give the process group a backend for the CPU, too: {backends}", backends=BOTH)
                    yield Change(text, "configuration", (source.replace(given, f'"{BOTH}"'),), doubt=_DOUBT)
