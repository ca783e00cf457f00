"""A move that takes something away from where it belongs is left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own, is_weight
from devsan.fix.scope import HOST
from devsan.fix.source import Source, source_of

_DOUBT = 34
_TWICE = 3  # where it had been moved to its partner before: a shared weight, a part that is listed twice
_AWAY = 9  # where it took the tensor away from the GPU of its partner


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the program without each move that brought an operand to its device, and without the ``device=`` by which
    a function moved the module that it was given."""
    for operand in failure.operands:
        moves = [event for event in operand["provenance"] if event["kind"] == "moved"]
        others = {each["device"] for each in failure.operands} - {operand["device"], "cpu"}
        for event in moves:
            doubt = _AWAY if event is moves[0] and event["from"] in others else _DOUBT
            doubt = _TWICE if event is moves[0] and _was_with_others(operand, others, moves[1:]) else doubt
            for frame in event["frames"]:
                if is_own(frame["path"]) and not failure.is_live(frame):
                    yield from _without(frame, event, doubt)


def _was_with_others(operand: Mapping[str, Any], others: set[str], before: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a weight, or that of an average, had been moved to the GPU of another operand by one of ``before``."""
    if not is_weight(operand) and operand["kind"] != "optimizer_state":
        return False
    return any(event["device"] in others for event in before)


def _without(frame: Mapping[str, Any], event: Mapping[str, Any], doubt: int) -> Iterator[Change]:
    source = source_of(frame["path"])
    call = source.expression_at(frame) if source is not None else None
    receiver = moved(call)
    if source is None or not isinstance(call, ast.Call):
        return
    given = next((word for word in call.keywords if word.arg == "device"), None)
    if receiver is None and given is not None and event["op"] == "Module.to":  # AveragedModel(model, device=...)
        rest = [source.segment(each) for each in call.args]
        rest += [f"{word.arg}={source.segment(word.value)}" if word.arg else f"**{source.segment(word.value)}"
                 for word in call.keywords if word is not given]  # fmt: skip
        function = source.segment(call.func)
        text = message("leave out `{argument}` in `{call}`",
                       argument=f"device={source.segment(given.value)}", call=source.segment(call))  # fmt: skip
        yield Change(text, "creation_site", (source.replace(call, f"{function}({', '.join(rest)})"),), doubt=doubt)
    if receiver is None or len(call.args) + len(call.keywords) > 1:
        return
    statement = source.statement_around(call)
    if isinstance(statement, ast.Expr) and statement.value is call:
        edit = source.remove(statement)
    else:
        edit = source.replace(call, source.segment(receiver))
    host = HOST if event["device"].startswith("cuda") and event["from"] == "cpu" else 0
    beside = [each for each in ast.walk(statement) if isinstance(each, ast.Call) and _is_such(source, each, call)]
    if len(beside) > 1:  # (h.cpu(), c.cpu())
        edits = tuple(source.replace(each, source.segment(each.func.value)) for each in beside)  # type: ignore[attr-defined]
        text = message("leave out {moves}", moves=", ".join(f"`{source.segment(each)}`" for each in beside))
        yield Change(text, "creation_site", edits, doubt=doubt + host)
    whole, kept = source.segment(call), source.segment(receiver)
    text = message("leave out `{move}`", move=whole)
    if isinstance(receiver, ast.Call):  # which stays: v.clone() of v.clone().cuda()
        text = message("leave out `{argument}` in `{call}`", argument=whole[len(kept) :], call=whole)
    yield Change(text, "creation_site", (edit,), doubt=doubt + host)


def _is_such(source: Source, call: ast.Call, move: ast.Call) -> bool:
    """Whether ``call`` moves a name to where ``move`` moves another."""
    receiver = moved(call)
    where = [[source.segment(each) for each in node.args] for node in (call, move)]
    return isinstance(receiver, ast.Name) and function_name(call) == function_name(move) and where[0] == where[1]
