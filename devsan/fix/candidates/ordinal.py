"""A GPU that is not there becomes one that is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, with_value
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, source_of
from devsan.fix.origins import operand_at

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
            for argument in [*call.args, *(each.value for each in call.keywords)] if isinstance(call, ast.Call) else []:
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
    text = source.segment(node)
    after = ""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            after = "0"
        elif isinstance(node.value, str) and re.fullmatch(r"cuda:\d+", node.value):
            after = '"cuda:0"'
    elif isinstance(node, ast.JoinedStr):
        numbers = [each for each in node.values if isinstance(each, ast.FormattedValue)]
        if numbers and "cuda" in text:
            inner = numbers[-1].value
            after = text.replace(
                f"{{{source.segment(inner) or ast.unparse(inner)}}}", f"{{{ast.unparse(inner)} % {_COUNT}}}"
            )
    elif isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant) and node.right.value == 1:
            first = source.segment(node.left)
            said = message("count GPUs from 0: {device}", device=first)
            yield Change(said, "creation_site", (source.replace(node, first),), doubt=doubt - 1)
        after = f"({text}) % {_COUNT}"
    elif isinstance(node, ast.Call):
        for argument in node.args:
            for change in _within(source, argument, doubt):
                yield Change(change.text, change.kind, (source.replace(node, with_value(
                    source, node, argument, change.edits[0].after)),), doubt=change.doubt)  # fmt: skip
    elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        after = f"{text} % {_COUNT}"
    if after and after != text:
        said = message("take a GPU that is there: {device}", device=after.strip('"'))
        yield Change(said, "use_site", (source.replace(node, after),), doubt=doubt)
