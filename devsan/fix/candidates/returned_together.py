"""A function that moves one of the things that it returns moves the others as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own
from devsan.fix.scope import own_nodes
from devsan.fix.source import Source, source_of

_PLACED = -1  # the function placed an operand: in front of what the diagnosis offers, which moves it where it is used
_ANY = 19


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``return a.to(device), b.to(device)`` where ``b`` was returned from where it is."""
    own = (next((frame for frame in event["frames"] if is_own(frame["path"])), None)
           for operand in failure.operands for event in operand["provenance"])  # fmt: skip
    placing = {(frame["path"], frame["line"]) for frame in own if frame is not None}
    for path in failure.own_paths if failure.is_mixed else ():
        source = source_of(path)
        for function in ast.walk(source.tree) if source is not None else ():
            if source is not None and isinstance(function, ast.FunctionDef):
                lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
                doubt = _PLACED if any((path, line) in placing for line in lines) else _ANY
                yield from _together(source, function, doubt)


def _together(source: Source, function: ast.FunctionDef, doubt: int) -> Iterator[Change]:
    nodes = list(own_nodes(function))
    moves = [each for each in nodes if isinstance(each, ast.Call) and _is_move(each)]
    for returned in (each.value for each in nodes if isinstance(each, ast.Return)):
        if not isinstance(returned, ast.Tuple):
            continue
        left = [each for each in returned.elts if isinstance(each, ast.Name | ast.Call) and each not in moves]
        for move in moves:
            device = source.segment(move.args[0])
            for each in left if move in returned.elts or _is_bound(nodes, returned.elts, move) else ():
                text = message("have `{function}` move `{name}` to {device}, too", function=function.name,
                               name=source.segment(each), device=device)  # fmt: skip
                edit = source.replace(each, f"{source.segment(each)}.to({device})")
                yield Change(text, "creation_site", (edit,), doubt=doubt + (move not in returned.elts))


def _is_move(call: ast.Call) -> bool:
    device = call.args[0] if len(call.args) == 1 else None
    return moved(call) is not None and function_name(call) == "to" and isinstance(device, ast.Name | ast.Attribute)


def _is_bound(nodes: list[ast.AST], returned: list[ast.expr], move: ast.Call) -> bool:
    """Whether what is returned was made of what ``move`` moved: ``batch = {k: v.to(device) ...}; return batch, h``."""
    names = {each.id for value in returned for each in ast.walk(value) if isinstance(each, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and any(each is move for each in ast.walk(node.value)):
            bound = {each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)}
            return bool(bound & names)
    return False
