"""A move that takes something away from where it belongs is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, is_own, source_of
from devsan.fix.scope import HOST

_DOUBT = 34


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the program without each move that brought an operand to its device."""
    for operand in failure.operands:
        for event in operand["provenance"]:
            for frame in event["frames"]:
                if event["kind"] == "moved" and is_own(frame["path"]) and not failure.is_live(frame):
                    yield from _without(frame, event)


def _without(frame: Mapping[str, Any], event: Mapping[str, Any]) -> Iterator[Change]:
    source = source_of(frame["path"])
    call = source.expression_at(frame) if source is not None else None
    receiver = moved(call)
    if source is None or receiver is None or not isinstance(call, ast.Call) or len(call.args) + len(call.keywords) > 1:
        return
    statement = source.statement_around(call)
    if isinstance(statement, ast.Expr) and statement.value is call:
        edit = source.remove(statement)
    else:
        edit = source.replace(call, source.segment(receiver))
    host = HOST if event["device"].startswith("cuda") and event["from"] == "cpu" else 0
    text = message("leave out `{move}`", move=source.segment(call))
    yield Change(text, "creation_site", (edit,), doubt=_DOUBT + host)
    beside = [each for each in ast.walk(statement) if isinstance(each, ast.Call) and _is_such(source, each, call)]
    if len(beside) > 1:  # (h.cpu(), c.cpu())
        edits = tuple(source.replace(each, source.segment(each.func.value)) for each in beside)  # type: ignore[attr-defined]
        text = message("leave out {moves}", moves=", ".join(f"`{source.segment(each)}`" for each in beside))
        yield Change(text, "creation_site", edits, doubt=_DOUBT + host)


def _is_such(source: Source, call: ast.Call, move: ast.Call) -> bool:
    """Whether ``call`` moves a name to where ``move`` moves another."""
    receiver = moved(call)
    where = [[source.segment(each) for each in node.args] for node in (call, move)]
    return isinstance(receiver, ast.Name) and function_name(call) == function_name(move) and where[0] == where[1]
