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
    """Yields ``init_process_group`` with both backends, where it is given NCCL or reads it from a variable."""
    if failure.finding["kind"] != "group":
        return
    text = message("give the process group a backend for the CPU, too: {backends}", backends=BOTH)
    for path in failure.own_paths:
        source = source_of(path)
        whole = list(ast.walk(source.tree)) if source is not None else []
        written = [node for node in whole if isinstance(node, ast.Constant) and node.value == "nccl"]
        for call in whole:
            if not isinstance(call, ast.Call) or function_name(call) != "init_process_group" or source is None:
                continue
            for given in (*call.args[:1], *(each.value for each in call.keywords if each.arg == "backend")):
                if given in written:
                    places: list[ast.expr] = [given]
                elif isinstance(given, ast.Constant):
                    continue
                else:  # `cfg.backend`: the only default that it may come from, else the call itself
                    places = [*written[:1], given] if len(written) == 1 else [given]
                for place in places:
                    yield Change(text, "configuration", (source.replace(place, f'"{BOTH}"'),), doubt=_DOUBT)
