"""A function that moves the module it was given works on a copy: ``to`` moves a module in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own, is_weight
from devsan.fix.scope import positional
from devsan.fix.source import Source, source_of

_DOUBT = 2  # before the removal of the move, behind which the function's own tensors are elsewhere
_IMPORT = "import copy"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields a copy of each module that was taken from where the failing call needs it, in the function that did so."""
    for operand in failure.operands if failure.is_mixed else ():
        moves = [event for event in operand["provenance"] if event["kind"] == "moved"]
        others = {each["device"] for each in failure.operands} - {operand["device"]}
        before = [event for event in moves[1:] if event["device"] in others]
        if not is_weight(operand) or not before:
            continue
        # Of a weight that two modules share each may have its own, where it is not trained.
        for event in (moves[0], *(before if operand.get("tied_to") else ())):
            for frame in event["frames"]:
                if is_own(frame["path"]) and not failure.is_live(frame):
                    yield from _copied(frame)


def _copied(frame: Mapping[str, Any]) -> Iterator[Change]:
    source = source_of(frame["path"])
    call = source.expression_at(frame) if source is not None else None
    receiver = moved(call)
    if source is None or call is None or receiver is None:
        return
    statement = source.statement_around(call)
    name = source.segment(receiver)
    edits = [source.replace(receiver, f"copy.deepcopy({name})")]
    if isinstance(statement, ast.Expr):  # what is moved is used by the name that it has
        name = _argument(source, receiver)
        if not name:
            return
        edits = [source.insert_before(statement, [f"{name} = copy.deepcopy({name})"])]
    text = message("copy `{name}` before `{place}` moves it", name=name, place=source.segment(statement).split("\n")[0])
    if not _imports_copy(source):
        edits.insert(0, source.insert_after(source.last_import, [_IMPORT]))
    yield Change(text, "creation_site", tuple(edits), doubt=_DOUBT)


def _argument(source: Source, node: ast.expr) -> str:
    """The parameter of the function that ``node`` is, or of which it is a method's result: ``model.eval()``; or ""."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return node.id if isinstance(node, ast.Name) and node.id in positional(source.function_around(node)) else ""


def _imports_copy(source: Source) -> bool:
    return any(
        isinstance(node, ast.Import) and any(each.name == "copy" and each.asname is None for each in node.names)
        for node in source.tree.body
    )
