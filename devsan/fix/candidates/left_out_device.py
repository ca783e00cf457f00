"""A call gives the device that a function or class of the program would take, where it leaves it out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, with_keyword
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, is_own, source_of
from devsan.fix.scope import devices, positional

_DOUBT = 3  # before the moves that the diagnosis offers


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the calls on the way to where an operand was made that leave a device to its default."""
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        for event in takewhile(lambda each: each["kind"] != "moved", operand["provenance"]):
            for source, call, parameter in _calls(event["frames"]):
                base = _DOUBT + (0 if operand["offending"] else 3)
                for device, doubt in devices(source, call, partner):
                    edit = source.replace(call, with_keyword(source, call, parameter, device))
                    text = message("give `{function}` the device: {code}", function=function_name(call),
                                   code=f"{parameter}={device}")  # fmt: skip
                    yield Change(text, "creation_site", (edit,), "DV102", base + doubt)


def _calls(frames: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Source, ast.Call, str]]:
    """The calls that leave out a device, with their files and the name of the parameter; the innermost first."""
    for inner, outer in pairwise(frame for frame in frames if is_own(frame["path"])):
        function = _function(inner)
        source = source_of(outer["path"])
        call = source.expression_at(outer) if source is not None else None
        if source is not None and function is not None and isinstance(call, ast.Call):
            parameter = _left_out(function, call)
            if parameter:
                yield source, call, parameter


def _function(frame: Mapping[str, Any]) -> ast.FunctionDef | None:
    source = source_of(frame["path"])
    node = source.expression_at(frame) if source is not None else None
    found = source.function_around(node) if source is not None and node is not None else None
    return found if isinstance(found, ast.FunctionDef) else None


def _left_out(function: ast.FunctionDef, call: ast.Call) -> str:
    """The parameter of ``function`` for a device, where ``call`` leaves it to its default; "" where there is none."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return ""
    given = {each.arg for each in call.keywords}
    names = positional(function)
    bound = len(call.args) + (names[:1] in (["self"], ["cls"]))
    open_ones = [*names[bound:], *(each.arg for each in function.args.kwonlyargs)]
    return next((each for each in open_ones if each.endswith(("device", "dev")) and each not in given), "")
