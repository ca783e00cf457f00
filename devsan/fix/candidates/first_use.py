"""A value that several statements use goes to the other operand's device once, before the first of them.

Where only the line that failed moves it, what was computed from it before stays behind, and fails next:
``mask = labels != -100`` above ``logp.gather(-1, labels)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.candidates.use_site import doubt_of
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.origins import operand_at
from devsan.fix.scope import names_stored
from devsan.fix.source import Source, source_of

_DOUBT = 5
_FACTS = frozenset({"device", "dtype", "shape"})


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the line ``labels = labels.to(logits.device)`` before the first statement that uses ``labels``."""
    for operand, partner in islice(failure.pairs(), 1) if failure.is_mixed else ():  # the offending, or smaller, one
        for frame in failure.own_frames[:1]:
            source = source_of(frame["path"])
            if source is not None:
                yield from _moved_once(failure, source, frame, operand, partner)


def _moved_once(
    failure: Failure, source: Source, frame: Mapping[str, Any], operand: Mapping[str, Any], partner: Mapping[str, Any]
) -> Iterator[Change]:
    node, other = operand_at(source, frame, operand), operand_at(source, frame, partner)
    name, start = _variable(node), _variable(other)
    if node is None or not name or not start or name == start:
        return
    statement = source.statement_around(node)
    block = source.block_of(statement)
    before = block[: block.index(statement)]
    bound = max((number for number, each in enumerate(before) if name in names_stored(each)), default=-1)
    first = next((number for number, each in enumerate(before) if number > bound and name in _read(each)), None)
    parameters = {each.arg for each in ast.walk(source.function_around(node)) if isinstance(each, ast.arg)}
    asked = _known_before(before, first, start, parameters) if first is not None else ""
    if first is not None and asked and asked != name:
        text = message("let `{name}` follow to {device} before it is used", name=name, device=f"{asked}.device")
        line = f"{name} = {name}.to({asked}.device)"
        doubt = doubt_of(failure, operand, partner, _DOUBT)
        yield Change(text, "use_site", (source.insert_before(before[first], [line]),), doubt=doubt)


def _variable(node: ast.AST | None) -> str:
    """The variable that an expression is a part of, or what a method makes of it: ``labels`` of
    ``labels[:, 1:].clamp(min=0)``; "" for another expression."""
    while node is not None and not isinstance(node, ast.Name):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        elif isinstance(node, ast.Call) and node.args:  # of a function, or a method whose first argument is no tensor
            inner = node.args[0]
            is_method = isinstance(node.func, ast.Attribute) and not isinstance(inner, (ast.Name, ast.Call))
            node = node.func.value if is_method else inner  # type: ignore[attr-defined]
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            node = None
    return node.id if node is not None else ""


def _known_before(before: Sequence[ast.stmt], first: int, name: str, parameters: set[str]) -> str:
    """The variable on the way to ``name`` that was bound last before the statement number ``first``, or a parameter of
    the function; "" for none."""
    way = {name}
    for number in range(len(before) - 1, -1, -1):
        given = way & _given(before[number])
        if given and number < first:
            return given.pop()
        if given:
            way = (way - given) | {_variable(before[number].value)}  # type: ignore[attr-defined]
    return next(iter(sorted(way & parameters)), "")


def _given(statement: ast.stmt) -> set[str]:
    """The variables to which an assignment gives one value."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {each.id for each in targets if isinstance(each, ast.Name)}


def _read(statement: ast.stmt) -> set[str]:
    """The variables whose values a statement uses: of ``x.device`` none."""
    asked = {each.value for each in ast.walk(statement) if isinstance(each, ast.Attribute) and each.attr in _FACTS}
    names = (each for each in ast.walk(statement) if isinstance(each, ast.Name) and each not in asked)
    return {each.id for each in names if isinstance(each.ctx, ast.Load)}
