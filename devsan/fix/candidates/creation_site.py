"""A tensor or a module is put on the right device where it is made or moved."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.candidates.use_site import device_of
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, is_own, source_of

_MOVES = ("to", "cuda", "cpu")


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the changes of the lines that placed an operand, the innermost first."""
    for operand, partner in failure.pairs():
        for event in operand["provenance"]:
            for frame in event["frames"]:
                if is_own(frame["path"]):
                    yield from _at(frame, operand, partner)


def _at(frame: Mapping[str, Any], operand: Mapping[str, Any], partner: Mapping[str, Any]) -> Iterator[Change]:
    source = source_of(frame["path"])
    node = source.expression_at(frame) if source is not None else None
    if source is None or not isinstance(node, ast.Call):
        return
    named = f'"{partner["device"]}"'
    for device in dict.fromkeys((device_of(partner, source, node), named)):
        after = _placed(source, node, device)
        text = message("put `{name}` on {device} where it is made", name=operand["name"] or operand["qualified_name"],
                       device=device.strip('"'))  # fmt: skip
        yield Change(text, "creation_site", (source.replace(node, after),))


def _placed(source: Source, call: ast.Call, device: str) -> str:
    """The text of ``call`` with its device replaced, or with a move behind it."""
    for keyword in call.keywords:
        if keyword.arg == "device":
            return _with(source, call, keyword.value, device)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES and len(call.args) <= 1 and not call.keywords:
        return f"{source.segment(call.func.value)}.to({device})"
    return f"{source.segment(call)}.to({device})"


def _with(source: Source, call: ast.Call, value: ast.expr, device: str) -> str:
    text, inner = source.segment(call), source.segment(value)
    line, column, _, _ = source.span(call)
    its_line, its_column, _, _ = source.span(value)
    lines = text.split("\n")
    before = sum(len(each) + 1 for each in lines[: its_line - line])
    offset = before + its_column - 1 - (column - 1 if its_line == line else 0)
    return text[:offset] + device + text[offset + len(inner) :]
