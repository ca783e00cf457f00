"""A GPU that is not there becomes one that is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, keyword, with_value
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.origins import operand_at
from devsan.fix.source import Source, source_of

_DOUBT = 10
_ELSEWHERE = 5  # it is not at the place that failed
_COUNT = "torch.cuda.device_count()"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ordinals within the number of GPUs."""
    if failure.finding["kind"] in ("ordinal", "load"):  # a checkpoint is read to a GPU by its number
        for number, frame in enumerate(failure.own_frames):
            source = source_of(frame["path"])
            if source is None:
                continue
            yield from _devices_made(source, _DOUBT + _ELSEWHERE + number)
            for operand in failure.operands:
                node = operand_at(source, frame, operand) if number == 0 else None
                if node is not None:
                    yield from _within(source, node, _DOUBT + number)
            call = source.expression_at(frame)
            given = [*call.args, *(each.value for each in call.keywords)] if isinstance(call, ast.Call) else []
            if failure.finding["kind"] == "load":
                given = [each for each in given if each is keyword(call, "map_location")]  # type: ignore[arg-type]
            for argument in given:
                yield from _within(source, argument, _DOUBT + number)


def _devices_made(source: Source, doubt: int) -> Iterator[Change]:
    """Devices that are computed anywhere in the file: ``torch.device("cuda", number)``, ``f"cuda:{number}"``."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and function_name(node) == "device" and len(node.args) == 2:
            if not isinstance(node.args[1], ast.Constant):
                yield from _within(source, node.args[1], doubt)
        elif isinstance(node, ast.JoinedStr) and source.segment(node)[2:].startswith("cuda:"):
            yield from _within(source, node, doubt)


def _within(source: Source, node: ast.expr, doubt: int) -> Iterator[Change]:
    if isinstance(node, ast.Call):
        for argument in node.args:
            for change in _within(source, argument, doubt):
                after = with_value(source, node, argument, change.edits[0].after)
                yield replace(change, edits=(source.replace(node, after),))
        return
    if isinstance(node, ast.Constant):
        first = _constant(node)
        if first:
            yield _there(source, node, first, doubt)
        return
    number, text = node, "{}"
    if isinstance(node, ast.JoinedStr):
        numbers = [each for each in node.values if isinstance(each, ast.FormattedValue)]
        if not numbers or "cuda" not in source.segment(node):
            return
        number = numbers[-1].value
        text = _around(source.segment(node), number)
    if not text or not isinstance(number, (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp)):
        return
    written = ast.unparse(number)
    if "environ" in written:  # a text
        return
    if _is_next(number):
        first = text.format(ast.unparse(number.left))
        said = message("count GPUs from 0: {device}", device=first)
        yield Change(said, "creation_site", (source.replace(node, first),), doubt=doubt - 1)
    whole = f"({written})" if isinstance(number, ast.BinOp) else written
    yield _there(source, node, text.format(f"{whole} % {_COUNT}"), doubt)


def _there(source: Source, node: ast.expr, after: str, doubt: int) -> Change:
    said = message("take a GPU that is there: {device}", device=after.strip('"'))
    return Change(said, "use_site", (source.replace(node, after),), doubt=doubt)


def _is_next(number: ast.expr) -> TypeGuard[ast.BinOp]:
    """Whether it is ``x + 1``: the number of a GPU that is counted from 1."""
    adds = isinstance(number, ast.BinOp) and isinstance(number.op, ast.Add)
    return adds and isinstance(number.right, ast.Constant) and number.right.value == 1  # type: ignore[attr-defined]


def _constant(node: ast.Constant) -> str:
    """The first GPU, where ``node`` names another; "" where it names none."""
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return "0" if node.value else ""
    return '"cuda:0"' if isinstance(node.value, str) and re.fullmatch(r"cuda:[1-9]\d*", node.value) else ""


def _around(written: str, number: ast.expr) -> str:
    """The text of an f-string with a place for another expression than ``number``, "" where it is not found."""
    spaces = r"\s*"
    inside = spaces.join(re.escape(each) for each in re.findall(r"\w+|\S", ast.unparse(number)))
    parts = re.split(rf"\{{{spaces}{inside}{spaces}\}}", written)
    whole = [each.replace("{", "{{").replace("}", "}}") for each in parts]
    return "{{{}}}".join(whole) if len(parts) == 2 else ""
