"""Where the value of an operand comes from, as the source has it: through arguments, to an assignment."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.fix.failure import Failure
from devsan.fix.scope import positional
from devsan.fix.source import Source, source_of


@dataclass(frozen=True)
class Origin:
    """An expression that an operand was bound to.

    Attributes:
        source: the file that it stands in.
        node: the expression.
        frame: how many of the program's own frames it is out of the one that failed.
    """

    source: Source
    node: ast.expr
    frame: int


def origin_of(failure: Failure, operand: Mapping[str, Any]) -> Origin | None:
    """Returns the last assignment to the name that ``operand`` has, in the function that failed or in a caller that
    passed it down as an argument; None where the source does not say it."""
    frames = failure.own_frames
    source = source_of(frames[0]["path"]) if frames else None
    node = operand_at(source, frames[0], operand) if source is not None else None
    return origin_in(frames, source, node)


def origin_of_name(failure: Failure, name: str) -> Origin | None:
    """As `origin_of`, for a name that the innermost of the user's own lines that has it reads."""
    frames = failure.own_frames
    for number, frame in enumerate(frames):
        source = source_of(frame["path"])
        node = source.named_at(frame["line"], name) if source is not None else None
        if node is not None:
            return origin_in(frames, source, node, number)
    return None


def origin_in(
    frames: Sequence[Mapping[str, Any]], source: Source | None, node: ast.expr | None, first: int = 0
) -> Origin | None:
    """As `origin_of`, for a name ``node`` in the file ``source`` of frame number ``first``, the innermost at 0."""
    for number in range(first, len(frames)):
        if source is None or not isinstance(node, ast.Name):
            return None
        found = assigned(source, node)
        if found is not None:
            return Origin(source, found[0], number)
        given = argument_of(frames, source, node, number)
        source, node = (None, None) if given is None else (given.source, given.node)
    return None


def argument_of(frames: Sequence[Mapping[str, Any]], source: Source, name: ast.Name, number: int = 0) -> Origin | None:
    """Returns what the caller of frame ``number`` gave for its parameter ``name``; None where that is not known."""
    place = _place_of(source, name)
    caller = frames[number + 1] if number + 1 < len(frames) else None
    outer = source_of(caller["path"]) if caller is not None else None
    call = outer.expression_at(caller) if outer is not None and caller is not None else None
    given = given_to(call, *place) if place is not None and isinstance(call, ast.Call) else None
    return Origin(outer, given, number + 1) if outer is not None and given is not None else None


def operand_at(source: Source, frame: Mapping[str, Any], operand: Mapping[str, Any]) -> ast.expr | None:
    """Returns the expression in the innermost frame of the user's that is ``operand``; None where there is none."""
    name = operand["name"]
    node = source.expression_at(operand) if operand["line"] else None
    if node is not None and name.startswith(source.segment(node)):
        return node
    return source.named_at(frame["line"], name) if name else None


def assigned(source: Source, name: ast.Name) -> tuple[ast.expr, ast.stmt] | None:
    """Returns the last value that was assigned to ``name`` before it is read, and the statement; None without one."""
    found = None
    for node in ast.walk(source.function_around(name)):
        if isinstance(node, ast.Assign) and node.lineno < name.lineno and name.id in map(source.segment, node.targets):
            found = (node.value, node)
    return found


def _place_of(source: Source, name: ast.Name) -> tuple[int, str] | None:
    """Position and name of the parameter that ``name`` is; None where it is none."""
    function = source.function_around(name)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    names = positional(function)
    if name.id in names:
        return names.index(name.id) - (names[0] == "self"), name.id
    return (-1, name.id) if name.id in {each.arg for each in function.args.kwonlyargs} else None


def given_to(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """Returns what ``call`` gives a parameter, at -1 by keyword alone; None where it does not say it."""
    for each in call.keywords:
        if each.arg == name:
            return each.value
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    return call.args[position] if 0 <= position < len(call.args) and not starred else None
