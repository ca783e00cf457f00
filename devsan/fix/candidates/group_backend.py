"""A process group of NCCL alone gets a backend for tensors of the CPU, where a collective is given one.

What FSDP offloads is reduced on the CPU by torch itself, so that no tensor of the program's can be moved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.source import source_of
from devsan.numbers.host_collectives import BOTH

_NCCL = "nccl"
_DOUBT = 8  # behind a tensor that is made on the rank's GPU


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``init_process_group`` with both backends, where it is given NCCL or reads it from a variable."""
    if failure.finding["kind"] != "group":
        return
    text = message("give the process group a backend for the CPU, too: {backends}", backends=BOTH)
    for path in failure.own_paths:
        source = source_of(path)
        if source is None:
            continue
        written = _defaults(source.tree)
        places: dict[ast.expr, None] = {}
        for call in ast.walk(source.tree):
            if not isinstance(call, ast.Call) or function_name(call) != "init_process_group":
                continue
            for given in (*call.args[:1], *(each.value for each in call.keywords if each.arg == "backend")):
                if isinstance(given, ast.Constant):
                    places |= {given: None} if given.value == _NCCL else {}
                elif not isinstance(given, ast.Starred):  # `cfg.backend`: its default where there is one, else the call
                    places |= dict.fromkeys([*written, given] if len(written) == 1 else [given])
        for place in places:
            yield Change(text, "configuration", (source.replace(place, f'"{BOTH}"'),), doubt=_DOUBT)


def _defaults(tree: ast.AST) -> list[ast.expr]:
    """Returns where "nccl" is given to a variable, a field or an argument: what it is compared with stays."""
    found: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.keyword):
            found.append(node.value)
        elif isinstance(node, ast.arguments):
            found += [*node.defaults, *node.kw_defaults]
    return [value for value in found if isinstance(value, ast.Constant) and value.value == _NCCL]
