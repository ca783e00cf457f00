"""Keys and values that the program puts into a cache go to the GPU of the layer that they are of.

A hook moves the inputs of a module, and a cache is none that it looks into: what each layer finds there has to be on
its own GPU already.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.candidates.use_site import move
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.scope import names_bound
from devsan.fix.source import Source, source_of

_DOUBT = 3
_KV_CACHE = "DV106"
_LISTS = ("ModuleList", "Sequential")


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``cache.update(keys.to(d), values.to(d), layer)`` for the outermost layers of each model in scope."""
    if not failure.is_mixed or failure.finding["code"] != _KV_CACHE:
        return
    for path in failure.own_paths:
        source = source_of(path)
        for call in ast.walk(source.tree) if source is not None else ():
            if source is None or not isinstance(call, ast.Call) or not _fills_a_cache(call):
                continue
            for model in failure.models:
                yield from _moved(source, call, model)
    yield from _brought_along(failure)


def _fills_a_cache(call: ast.Call) -> bool:
    """Whether it is ``cache.update(keys, values, layer_idx)``, as transformers' Cache has it."""
    named = isinstance(call.func, ast.Attribute) and call.func.attr == "update"
    return named and len(call.args) >= 3 and not any(isinstance(each, ast.Starred) for each in call.args)


def _moved(source: Source, call: ast.Call, model: Mapping[str, Any]) -> Iterator[Change]:
    name = _name_there(source, call, str(model["expression"]))
    if not name:
        return
    rows = [each["path"] for each in model["modules"] if each["type"] in _LISTS and each["path"]]
    row = min(rows, key=lambda each: each.count("."), default="")
    keys, values, layer = call.args[:3]
    if row:
        device = f"next({name}.{row}[{source.segment(layer)}].parameters()).device"
        edits = tuple(edit for each in (keys, values) for edit in move(source, each, device, "").edits)
        text = message("put the keys and values of each layer on the GPU of the layer")
        yield Change(text, "creation_site", edits, doubt=_DOUBT)


def _name_there(source: Source, call: ast.Call, name: str) -> str:
    """What the function of ``call`` calls the model: as the failing one does, or what it asks for its configuration or
    its device; "" where it knows none."""
    bound = names_bound(source, call)
    if name.partition(".")[0] in bound:
        return name
    for node in ast.walk(source.function_around(call)):
        if isinstance(node, ast.Attribute) and node.attr in ("config", "device", "hf_device_map"):
            text = source.segment(node.value)
            if text.partition(".")[0] in bound and "model" in text:
                return text
    return ""


def _brought_along(failure: Failure) -> Iterator[Change]:
    """Moves all layers of a cache that was made for another model, or a replica, before the call that is given it."""
    for frame in failure.own_frames[:1]:
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        if source is None or not isinstance(call, ast.Call):
            continue
        given = {each.arg: each.value for each in call.keywords}
        cache, inputs = given.get("past_key_values"), given.get("input_ids", call.args[0] if call.args else None)
        if not isinstance(cache, ast.Name) or not isinstance(inputs, ast.Name):
            continue
        device = f"{inputs.id}.device"
        lines = (f"for layer in {cache.id}.layers:",
                 f"    layer.keys, layer.values = layer.keys.to({device}), layer.values.to({device})")  # fmt: skip
        text = message("move the layers of `{cache}` to {device} before they are used", cache=cache.id, device=device)
        edit = source.insert_before(_first_use(source, call, cache.id), lines)
        yield Change(text, "creation_site", (edit,), _KV_CACHE, _DOUBT + 1)


def _first_use(source: Source, call: ast.AST, cache: str) -> ast.stmt:
    """The statement of ``call``, or the outermost loop around it that does not bind the cache anew."""
    found = source.statement_around(call)
    around: ast.AST | None = found
    while around is not None and not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
        binds = any(isinstance(each, ast.Name) and each.id == cache and isinstance(each.ctx, ast.Store)
                    for each in ast.walk(around))  # fmt: skip
        if isinstance(around, (ast.For, ast.While)) and not binds:
            found = around
        around = source.parents.get(around)
    return found
