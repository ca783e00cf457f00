"""What a module of the user's is given comes to its weights, where the module is called.

A move inside of the module is one of several, where it uses its input more than once; at the call it is one edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import moved
from devsan.fix.candidates.use_site import move
from devsan.fix.change import Change, joined
from devsan.fix.dependence import arguments_behind
from devsan.fix.failure import Failure
from devsan.fix.source import Source, source_of

_DOUBT = 7  # before the move of one operand
_FROM_HOST = 20  # what comes from the host moves once, where it is made
_ALL = 1


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the moves of what an operand comes from, then of all that the module is given, the innermost first."""
    frames = failure.own_frames
    if frames and failure.is_mixed:
        yield from _of_library(failure, frames[0])
    for number in range(1, len(frames)) if failure.is_mixed else ():
        inner, outer = frames[number - 1], frames[number]
        home, held = _home(failure, inner)
        source = source_of(outer["path"])
        call = source.expression_at(outer) if source is not None else None
        strays = [each for each in failure.operands if each["device"] != home]
        if source is None or not isinstance(call, ast.Call) or not home or len(strays) == len(failure.operands):
            continue
        behind = [arguments_behind(failure, each, number) for each in strays if not failure.is_written(each)]
        names = {source.segment(node) for nodes in behind for node in nodes or ()}
        given = [each for each in _arguments(call) if not isinstance(each, ast.Constant)]
        some = [each for each in given if source.segment(each) in names]
        doubt = _DOUBT + number - 1 + (_FROM_HOST if all(each["device"] == "cpu" for each in strays) else 0)
        if some:
            yield _moved(source, call, some, held, doubt)
            if len(some) < len(given):
                yield _moved(source, call, given, held, doubt + _ALL)


def _of_library(failure: Failure, frame: Mapping[str, Any]) -> Iterator[Change]:
    """The first input of a module of torch's whose weights are on one GPU, in modules inside of it: an encoder's."""
    source = source_of(frame["path"])
    call = source.expression_at(frame) if source is not None else None
    if source is None or not isinstance(call, ast.Call) or not call.args or isinstance(call.args[0], ast.Starred):
        return
    inside = f"{source.segment(call.func)}."
    weights = [each for each in failure.operands if str(each["name"]).startswith(inside)]
    strays = [each for each in failure.operands if each not in weights]
    homes = {each["device"] for each in weights}
    named = any(str(each["name"]).removeprefix(inside).isidentifier() for each in weights)  # comes to self.embed.weight
    if len(homes) == 1 and not named and strays and all(each["device"] not in homes for each in strays):
        from_host = all(each["device"] == "cpu" for each in strays)
        yield _moved(source, call, call.args[:1], "parameters", _DOUBT + (_FROM_HOST if from_host else 0))


def _arguments(call: ast.Call) -> list[ast.expr]:
    given = [*call.args, *(each.value for each in call.keywords if each.arg is not None)]
    return [each for each in given if not isinstance(each, ast.Starred)]


def _moved(source: Source, call: ast.Call, given: Sequence[ast.expr], held: str, doubt: int) -> Change:
    function = source.segment(call.func)
    device = f"next({function}.{held}()).device"
    names = ", ".join(dict.fromkeys(f"`{source.segment(each)}`" for each in given))
    text = message("move {names} to the weights of `{module}` where it is called", names=names, module=function)
    if held == "buffers":
        text = message("move {names} to the buffers of `{module}` where it is called", names=names, module=function)
    edits = [
        Change(text, "use_site", (source.replace(each, f"{source.segment(receiver)}.to({device})"),))
        if (receiver := _gpu_left_out(each)) is not None
        else move(source, each, device, "")
        for each in given
    ]
    return Change(text, "use_site", joined(edits), doubt=doubt)


def _gpu_left_out(node: ast.expr) -> ast.expr | None:
    """``x`` of ``x.to("cuda:0")`` and ``x.cuda()``, whose move the new one takes the place of."""
    plain = isinstance(node, ast.Call) and len(node.args) <= 1 and not node.keywords
    return moved(node) if plain else None


def _home(failure: Failure, inner: Mapping[str, Any]) -> tuple[str, str]:
    """The GPU of all weights of the module whose ``forward`` ``inner`` is, and the method that gives these, or buffers
    where it has no weights; "" where it has neither, or on several GPUs."""
    if inner["function"].rpartition(".")[2] != "forward":
        return "", ""
    for model in failure.models:
        modules = {module["path"]: module for module in model["modules"]}
        own = modules.get(inner["module"] or "")
        if own is not None and own["type"] == inner["function"].rpartition(".")[0].rpartition(".")[2]:
            inside = f"{own['path']}." if own["path"] else ""
            tensors = [
                tensor
                for path, module in modules.items()
                if module is own or path.startswith(inside)
                for tensor in module["tensors"]
            ]
            devices = {tensor["device"] for tensor in tensors}
            held = "buffers" if all(tensor["is_buffer"] for tensor in tensors) else "parameters"
            return (devices.pop(), held) if len(devices) == 1 else ("", "")
    return "", ""
