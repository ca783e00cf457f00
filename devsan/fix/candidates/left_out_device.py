"""A call gives the device that a function or class would take, where it leaves it out.

Of the program's own functions one that has made an operand; of a library's one that was still running: ``update_bn``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, takewhile
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, with_keyword
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own, is_weight
from devsan.fix.scope import devices, positional
from devsan.fix.source import Source, source_of

Frame = Mapping[str, Any]
Pair = tuple[Frame, Frame]

_DOUBT = 3  # before the moves that the diagnosis offers


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the calls that leave a device out, on the way to where an operand was made, or to the failure."""
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        base = _DOUBT + (0 if operand["offending"] else 3)
        for event in takewhile(lambda each: each["kind"] != "moved", operand["provenance"]):
            made = pairwise(frame for frame in event["frames"] if is_own(frame["path"]))
            yield from _given(made, partner, "DV102", base)
        if operand["device"] == "cpu" and not is_weight(operand):
            yield from _given(_running(failure), partner, "DV103", base)


def _given(frames: Iterable[Pair], partner: Frame, code: str, base: int) -> Iterator[Change]:
    for source, call, parameter in _calls(frames):
        for device, doubt in devices(source, call, partner):
            edit = source.replace(call, with_keyword(source, call, parameter, device))
            text = message("give `{function}` the device: {code}", function=function_name(call),
                           code=f"{parameter}={device}")  # fmt: skip
            yield Change(text, "creation_site", (edit,), code, base + doubt)


def _running(failure: Failure) -> Iterator[Pair]:
    """A library's functions that have not returned, with the program's calls of them; not what wraps such a function.

    ``torch.no_grad()`` puts a function of its own between ``update_bn`` and who calls it.
    """
    inside: list[Frame] = []
    for frame in failure.finding["stack"]:
        if not is_own(frame["path"]):
            inside.append(frame)
            continue
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        if isinstance(call, ast.Call):
            yield from ((each, frame) for each in inside if _name(each) == function_name(call))
        inside = []


def _name(frame: Frame) -> str:
    return str(frame["function"]).rpartition(".")[2]


def _calls(frames: Iterable[Pair]) -> Iterator[tuple[Source, ast.Call, str]]:
    """The calls that leave out a device, with their files and the name of the parameter.

    Args:
        frames: of a function and of the call of it.
    """
    for inner, outer in frames:
        function = _function(inner)
        source = source_of(outer["path"])
        call = source.expression_at(outer) if source is not None else None
        if source is not None and function is not None and isinstance(call, ast.Call):
            parameter = _left_out(function, call)
            if parameter and (is_own(inner["path"]) or parameter == "device"):  # not a library's output_device
                yield source, call, parameter


def _function(frame: Frame) -> ast.FunctionDef | None:
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
