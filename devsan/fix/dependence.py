"""Which arguments of a call an operand comes from, by the data that flows inside of each function.

NOTE [Dependence] A name at the failing line leads back, through the assignments before it, to parameters of its
function; these to what the caller gave. What only tells a shape, a dtype or a device carries no data. Between two
functions of the user's only the frames may stand by which torch calls a module: a library in between gives other
arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from devsan.fix.failure import Failure
from devsan.fix.origins import given_to, operand_at
from devsan.fix.scope import own_nodes, positional
from devsan.fix.source import Source, source_of

_NO_DATA = {"device", "shape", "dtype", "size", "dim", "ndim", "is_cuda", "requires_grad"}
_PASSED_ON = ("_call_impl", "_wrapped_call_impl", "inner", "decorate_context", "decorate_autocast")


def arguments_behind(failure: Failure, operand: Mapping[str, Any], number: int) -> list[ast.expr] | None:
    """Returns what the call at the user's frame ``number`` is given of which ``operand`` is made.

    Args:
        failure: with the operand.
        operand: of the failing operation.
        number: 1 is the caller of the function that failed.

    Returns:
        The arguments; None where the source does not say it.
    """
    frames = failure.own_frames
    source = source_of(frames[0]["path"])
    node = operand_at(source, frames[0], operand) if source is not None else None
    nodes = [node] if node is not None else []
    for inner, outer in pairwise(frames[: number + 1]):
        source, caller = source_of(inner["path"]), source_of(outer["path"])
        call = caller.expression_at(outer) if caller is not None else None
        if source is None or not nodes or not isinstance(call, ast.Call) or not _is_called_by(failure, inner, outer):
            return None
        places = [place for node in nodes for place in _parameters_behind(source, node)]
        nodes = [given for place in dict.fromkeys(places) if (given := given_to(call, *place)) is not None]
    return nodes


def _is_called_by(failure: Failure, inner: Mapping[str, Any], outer: Mapping[str, Any]) -> bool:
    stack = list(failure.finding["stack"])
    between = stack[stack.index(inner) + 1 : stack.index(outer)]
    return all(frame["package"] == "torch" and frame["function"].rpartition(".")[2] in _PASSED_ON for frame in between)


def _parameters_behind(source: Source, node: ast.expr) -> Iterator[tuple[int, str]]:
    """Position and name of the parameters from which ``node`` gets its data."""
    function = source.function_around(node)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    names = positional(function)
    is_method = names[:1] == ["self"]
    places = {name: place - is_method for place, name in enumerate(names)}
    places |= {each.arg: -1 for each in function.args.kwonlyargs}
    places.pop("self", None)
    waiting, seen = list(_names(node)), set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        if name in places:
            yield places[name], name
        for each in own_nodes(function):
            if _binds(each, name) and each.lineno <= node.lineno:  # type: ignore[attr-defined]
                waiting += _names(each.iter if isinstance(each, ast.For) else each.value)  # type: ignore[attr-defined]


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Assign):
        targets: list[ast.expr] = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For)):
        targets = [node.target]
    else:
        return False
    stored = (each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
    return any(each.id == name for each in stored) and getattr(node, "value", node) is not None


def _names(node: ast.AST) -> Iterator[str]:
    """The names whose data ``node`` has."""
    if isinstance(node, ast.Name):
        yield node.id
    elif not (isinstance(node, ast.Attribute) and node.attr in _NO_DATA):
        for child in ast.iter_child_nodes(node):
            yield from _names(child)
