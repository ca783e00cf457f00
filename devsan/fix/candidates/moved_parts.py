"""A move of a whole model takes a weight from the GPU on which it was made: the other parts are moved instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own, is_weight
from devsan.fix.source import source_of

_DOUBT = 2
_MOST = 8  # lines that a reader takes in


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the moves of the parts beside that one of which a weight was made where another operand is."""
    for operand in failure.operands:
        events = [event for event in operand["provenance"] if event["kind"] in ("moved", "made")]
        if not is_weight(operand) or [each["kind"] for each in events] != ["moved", "made"]:
            continue
        move, made = events
        model = next((each for each in failure.models if _is_moved_whole(each, move)), None)
        elsewhere = {each["device"] for each in failure.operands} - {operand["device"], "cpu"}
        parts = _beside(model["modules"], operand["qualified_name"]) if model is not None else []
        if made["device"] in elsewhere and 0 < len(parts) <= _MOST:
            for frame in move["frames"]:
                if is_own(frame["path"]):
                    yield from _of_parts(frame, parts)


def _is_moved_whole(model: Mapping[str, Any], move: Mapping[str, Any]) -> bool:
    wholes = [event for event in model["placements"] if event["op"] == "Module.to" and not event["subject"]]
    return any(event["device"] == move["device"] for event in wholes)


def _beside(modules: Sequence[Mapping[str, Any]], path: str) -> list[str]:
    """The paths of the modules that are no part of the way to ``path``, down to the first list of modules.

    Empty where a module on the way has tensors of its own: no move of a module takes these alone.
    """
    found: list[str] = []
    way = path.split(".")[:-1]
    by_path = {module["path"]: module for module in modules}
    for deep, name in enumerate(way):
        around = ".".join(way[:deep])
        if around not in by_path or by_path[around]["tensors"]:  # of a large model not all are recorded
            return []
        children = [each for each in by_path if each and each.rpartition(".")[0] == around]
        if name.isdigit():
            break
        found += [each for each in children if each != ".".join(way[: deep + 1])]
    return found


def _of_parts(frame: Mapping[str, Any], parts: Sequence[str]) -> Iterator[Change]:
    source = source_of(frame["path"])
    call = source.expression_at(frame) if source is not None else None
    receiver = moved(call)
    if source is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    statement = source.statement_around(call)
    if receiver is None or not isinstance(statement, ast.Expr) or statement.value is not call:
        return
    name = source.segment(receiver)
    rest = source.segment(call)[len(name) :]
    lines = f"\n{' ' * statement.col_offset}".join(f"{name}.{part}{rest}" for part in parts)
    text = message("move the parts of `{name}` that have no device of their own, not all of it", name=name)
    yield Change(text, "creation_site", (source.replace(statement, lines),), doubt=_DOUBT)
