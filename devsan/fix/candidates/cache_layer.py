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
from devsan.fix.failure import Failure, Source, source_of
from devsan.fix.scope import names_bound

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


def _fills_a_cache(call: ast.Call) -> bool:
    """Whether it is ``cache.update(keys, values, layer_idx)``, as transformers' Cache has it."""
    named = isinstance(call.func, ast.Attribute) and call.func.attr == "update"
    return named and len(call.args) >= 3 and not any(isinstance(each, ast.Starred) for each in call.args)


def _moved(source: Source, call: ast.Call, model: Mapping[str, Any]) -> Iterator[Change]:
    name = str(model["expression"])
    if name.partition(".")[0] not in names_bound(source, call):
        return
    rows = [each["path"] for each in model["modules"] if each["type"] in _LISTS and each["path"]]
    row = min(rows, key=lambda each: each.count("."), default="")
    keys, values, layer = call.args[:3]
    if row:
        device = f"next({name}.{row}[{source.segment(layer)}].parameters()).device"
        edits = tuple(edit for each in (keys, values) for edit in move(source, each, device, "").edits)
        text = message("put the keys and values of each layer on the GPU of the layer")
        yield Change(text, "creation_site", edits, doubt=_DOUBT)
