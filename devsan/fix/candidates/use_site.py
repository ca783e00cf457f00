"""An operand goes to the device of another one where both are used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.change import Change, joined
from devsan.fix.failure import Failure, is_weight, size_of
from devsan.fix.origins import operand_at
from devsan.fix.scope import HOST, LITERAL, devices, is_left_out
from devsan.fix.source import Source, source_of

_DOUBT = 22
_TO_WHAT_IS_WRITTEN = 9
_SELECTS = 10
_NO_GPU = re.compile(r"cpu|torch\.\w+\d|dtype")  # another argument of `to`
_ARGUMENT = 24
_GUESTS, _FAR_SMALLER = 15, 4
_JOINED = 14
_MODEL = 12  # a model that has been placed on GPUs stays where it is
_RESULTS = "DV104"  # results on several devices: what mends the place where they are joined decides for it


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the moves of one operand to another where the operation stands, then of the arguments further out."""
    if not failure.is_mixed:
        return
    for operand, partner in failure.pairs():
        for frame in failure.own_frames[:1]:
            yield from _operand(failure, frame, operand, partner)
    for frame in failure.own_frames[:1]:
        yield from _guests(failure, frame)
        yield from _joined(failure, frame)
    for number, frame in enumerate(failure.own_frames):
        yield from _arguments(failure, frame, _ARGUMENT + number)


def _operand(
    failure: Failure, frame: Mapping[str, Any], operand: Mapping[str, Any], partner: Mapping[str, Any]
) -> Iterator[Change]:
    source = source_of(frame["path"])
    node = operand_at(source, frame, operand) if source is not None else None
    if source is None or node is None or not is_read(source, node) or failure.is_written(operand):
        return
    base = doubt_of(failure, operand, partner, _DOUBT)
    if partner["device"] == "cpu" and _selects_on_host(source, node):
        base = _SELECTS - HOST
    elsewhere = {f"{each['name']}.device" for each in failure.operands if each["device"] != partner["device"]}
    listed = operand["name"].startswith(f"{source.segment(node)}[")
    for device, doubt in devices(source, node, partner):
        if device in elsewhere:
            continue
        if listed:  # the elements of a list are the operands: torch.stack(losses)
            text = message("move the elements of `{name}` to {device} where they are joined", name=source.segment(node),
                           device=device.strip('"'))  # fmt: skip
            after = f"[each.to({device}) for each in {source.segment(node)}]"
            yield Change(text, "use_site", (source.replace(node, after),), doubt=base + doubt)
        else:
            yield move(source, node, device, operand["name"] or source.segment(node), base + doubt)


def _guests(failure: Failure, frame: Mapping[str, Any]) -> Iterator[Change]:
    """All the others come to the one that is alone where it is, where together they are far smaller: labels and class
    weights to the logits."""
    for host in failure.operands:
        others = [each for each in failure.operands if each is not host]
        homes = {each["device"] for each in others}
        to_gpu = host["device"].startswith("cuda") and host["device"] not in homes
        if len(others) < 2 or len(homes) > 1 or not to_gpu or any(map(is_weight, failure.operands)):
            continue
        if sum(map(size_of, others)) * _FAR_SMALLER > size_of(host) or not all(
            each["name"] for each in failure.operands
        ):
            continue
        moves = [next(_operand(failure, frame, each, host), None) for each in others]
        found = [each for each in moves if each is not None]
        if len(found) == len(others):
            names = ", ".join(f"`{each['name']}`" for each in others)
            text = message("move {names} to the device of `{other}` where they are used", names=names,
                           other=host["name"])  # fmt: skip
            yield Change(
                text, "use_site", joined(found), doubt=_GUESTS + max(0, *(each.doubt - _DOUBT - 3 for each in found))
            )


def _selects_on_host(source: Source, node: ast.AST) -> bool:
    """Whether ``node`` is the index of what is moved at once: the table of ``table[index].to(device)`` is to stay."""
    around = source.parents.get(node)
    if not isinstance(around, ast.Subscript) or around.slice is not node:
        return False
    call = source.parents.get(source.parents[around])  # of the method that is read from it
    if not isinstance(call, ast.Call) or moved(call) is not around or function_name(call) == "cpu":
        return False
    return not any(_NO_GPU.search(source.segment(each)) for each in call.args)


def _joined(failure: Failure, frame: Mapping[str, Any]) -> Iterator[Change]:
    """Each element goes to one device where a comprehension hands them on: ``sum(x * w for x, w in parts)``."""
    source = source_of(frame["path"])
    call = source.expression_at(frame) if source is not None else None
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if source is None or not isinstance(given, (ast.ListComp, ast.GeneratorExp)):
        return
    device_of_first = {"name": "", "device": failure.operands[0]["device"], "provenance": ()}
    for device, doubt in devices(source, given.elt, device_of_first):
        text = message("move the elements of `{name}` to {device} where they are joined", name=source.segment(given),
                       device=device.strip('"'))  # fmt: skip
        element = move(source, given.elt, device, "").edits
        base = _JOINED - (LITERAL if device.startswith('"') else 0)
        yield Change(text, "use_site", element, code=_RESULTS, doubt=max(base + doubt, _JOINED))


def doubt_of(failure: Failure, operand: Mapping[str, Any], partner: Mapping[str, Any], base: int) -> int:
    """Returns the doubt of moving ``operand`` to ``partner``, before that of an expression for its device.

    What is written into stays where it is, on the host too: there alone the others can come.
    """
    if failure.is_written(partner):
        return min(base, _TO_WHAT_IS_WRITTEN) - (HOST if partner["device"] == "cpu" else 0)
    return base + (0 if operand["offending"] else 3)


def _arguments(failure: Failure, frame: Mapping[str, Any], base: int) -> Iterator[Change]:
    """An argument of a call further out: what is inside is a library's, or another file's."""
    source = source_of(frame["path"])
    call = source.expression_at(frame) if source is not None else None
    if source is None or not isinstance(call, ast.Call):
        return
    arguments = [*call.args, *(each.value for each in call.keywords)]
    tensors = [
        each for each in arguments if not isinstance(each, (ast.Constant, ast.Starred, ast.Lambda, ast.Dict, ast.List))
    ]
    settled = {model["expression"] for model in failure.models if _is_on_gpu(model)}
    on_host = {operand["name"] for operand in failure.operands if operand["device"] == "cpu"}
    for argument in tensors:
        for other in arguments:
            where = _device_said(source, other)
            if other is not argument and where:
                host = HOST if source.segment(other) in on_host else 0
                yield move(source, argument, where, source.segment(argument), base + host)
    for device in dict.fromkeys(partner["device"] for _, partner in failure.pairs()):
        for argument in tensors:
            doubt = base + LITERAL + (HOST if device == "cpu" else 0)
            doubt += _MODEL if source.segment(argument) in settled else 0
            yield move(source, argument, f'"{device}"', source.segment(argument), doubt)


def _is_on_gpu(model: Mapping[str, Any]) -> bool:
    tensors = (tensor for module in model["modules"] for tensor in module["tensors"])
    return any(tensor["device"].startswith("cuda") for tensor in tensors)


def _device_said(source: Source, argument: ast.expr) -> str:
    """Where an argument goes: ``device`` of ``x.to(device)``, ``x.device`` of ``x``; "" where it says nothing."""
    if moved(argument) is not None and isinstance(argument, ast.Call):
        return source.segment(argument.args[0]) if argument.args else ""
    return f"{source.segment(argument)}.device" if isinstance(argument, (ast.Name, ast.Attribute)) else ""


def is_read(source: Source, node: ast.AST) -> bool:
    """Returns whether a value is read at ``node``: a target of an assignment is not, nor the function of a call."""
    parent = source.parents.get(node)
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return False
    if isinstance(parent, ast.Call) and parent.func is node:
        return False
    return not (isinstance(parent, ast.AugAssign) and parent.target is node)


def move(source: Source, node: ast.AST, device: str, name: str, doubt: int = _DOUBT) -> Change:
    """Returns the change that appends ``.to(device)`` to an expression."""
    text = source.segment(node)
    atom = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Dict))
    after = f"{text}.to({device})" if atom else f"({text}).to({device})"
    parent = source.parents.get(node)
    is_given = isinstance(parent, ast.keyword) or (isinstance(parent, ast.Call) and parent.func is not node)
    if is_given and is_left_out(source, node):
        after = f"(None if {text} is None else {after})"
    told = message("move `{name}` to {device} where it is used", name=name, device=device.strip('"'))
    return Change(told, "use_site", (source.replace(node, after),), doubt=doubt)
