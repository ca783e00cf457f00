"""A move that takes something away from where it belongs is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own, source_of
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
