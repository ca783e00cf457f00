"""What ranks send one another as objects is taken to the host first.

Tensors in an object are pickled with the name of their GPU (torch/distributed/distributed_c10d.py, _object_to_tensor),
so that they arrive on the GPU of the rank that sent them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, keyword
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own
from devsan.fix.origins import Origin, argument_of, assigned, origin_in
from devsan.fix.scope import own_nodes
from devsan.fix.source import Source, source_of

_DOUBT = 5
_SENT = {"all_gather_object": (1, "obj"), "gather_object": (0, "obj"), "broadcast_object_list": (0, "object_list"),
         "scatter_object_list": (1, "scatter_object_input_list"), "send_object_list": (0, "object_list")}  # fmt: skip
"""By function, where it is given what it sends."""

_BUILT = {"tuple", "list", "dict"}
_OF_TENSORS = {"detach", "clone", "float", "mean", "sum", "argmax", "flatten", "view", "reshape"}


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``.cpu()`` for each tensor in the object that brought an operand, as far as the source writes it out."""
    for operand in failure.operands:
        for event in operand["provenance"]:
            frames = [frame for frame in event["frames"] if is_own(frame["path"])]
            if event["owner"]["name"] == "torch.distributed" and event["owner"]["mechanism"] in _SENT and frames:
                yield from _on_host(frames)


def _on_host(frames: list[Mapping[str, Any]]) -> Iterator[Change]:
    source = source_of(frames[0]["path"])
    call = source.expression_at(frames[0]) if source is not None else None
    if source is None or not isinstance(call, ast.Call) or function_name(call) not in _SENT:
        return
    place, name = _SENT[function_name(call)]
    given = keyword(call, name) or (call.args[place] if len(call.args) > place else None)
    made = origin_in(frames, source, given)
    if made is None and isinstance(given, ast.Name):
        made = argument_of(frames, source, given)
    if made is None and given is not None:
        made = Origin(source, given, 0)
    tensors = list(_tensors(made.source, made.node)) if made is not None else []
    if not tensors and isinstance(given, ast.Name):  # payload = [None]; payload[0] = ...
        made = Origin(source, given, 0)
        tensors = [each for stored in _stored(source, given) for each in _tensors(source, stored)]
    if made is None or not tensors:
        return
    edits = tuple(made.source.replace(each, f"{made.source.segment(each)}.cpu()") for each in tensors)
    text = message("send tensors of the CPU with `{function}`", function=function_name(call))
    yield Change(text, "creation_site", edits, doubt=_DOUBT, halfway=True)  # where it is used it has to come back


def _stored(source: Source, name: ast.Name) -> Iterator[ast.expr]:
    """What the function puts into the list ``name`` before it is sent."""
    for node in own_nodes(source.function_around(name)):
        target = node.targets[0] if isinstance(node, ast.Assign) and node.lineno < name.lineno else None
        if isinstance(target, ast.Subscript) and source.segment(target.value) == name.id:
            yield node.value  # type: ignore[attr-defined]


def _tensors(source: Source, node: ast.expr) -> Iterator[ast.expr]:
    """The elements of a display that are tensors, as far as they say so: what torch returned, ``x.detach()``."""
    if isinstance(node, ast.Dict):
        for each in node.values:
            yield from _tensors(source, each)
    elif isinstance(node, (ast.List, ast.Tuple)):
        for each in node.elts:
            yield from _tensors(source, each)
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        yield from _tensors(source, node.elt)
    elif isinstance(node, ast.DictComp):
        yield from _tensors(source, node.value)
    elif _is_tensor(source, node):
        yield node
    elif isinstance(node, ast.Call) and (function_name(node) in _BUILT or _is_class(source, function_name(node))):
        for each in (*node.args, *(given.value for given in node.keywords)):
            yield from _tensors(source, each)
    elif isinstance(node, ast.Call):
        yield from _filled(source, function_name(node))
    elif isinstance(node, ast.Name):
        made = assigned(source, node)
        if made is not None and _is_tensor(source, made[0]):
            yield node


def _filled(source: Source, function: str) -> Iterator[ast.expr]:
    """The tensors that a function of the file returns, or puts into that: ``found[key] = (x.clone(), label)``."""
    for made in ast.walk(source.tree):
        if not isinstance(made, ast.FunctionDef) or made.name != function:
            continue
        returned = {each.value.id for each in own_nodes(made) if isinstance(each, ast.Return)
                    and isinstance(each.value, ast.Name)}  # fmt: skip
        for each in own_nodes(made):
            stored = each.targets[0] if isinstance(each, ast.Assign) else None
            if isinstance(stored, ast.Subscript) and source.segment(stored.value) in returned:
                yield from _tensors(source, each.value)  # type: ignore[attr-defined]
            if isinstance(each, ast.Return) and isinstance(each.value, (ast.Dict, ast.Tuple, ast.List, ast.Call)):
                yield from _tensors(source, each.value)


def _is_class(source: Source, name: str) -> bool:
    return any(isinstance(each, ast.ClassDef) and each.name == name for each in source.tree.body)


def _is_tensor(source: Source, node: ast.expr) -> bool:
    is_call = isinstance(node, ast.Call)
    return is_call and (source.segment(node.func).startswith("torch.") or function_name(node) in _OF_TENSORS)  # type: ignore[attr-defined]
