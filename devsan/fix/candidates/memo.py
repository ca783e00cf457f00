"""What a function remembers for later calls is remembered for each device."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure, placing_frames
from devsan.fix.scope import devices
from devsan.fix.source import Source, source_of

_DOUBT, _KNOWN = 19, 4  # where the diagnosis knows of a cache
_CACHE = "DV113"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the dictionaries that keep an operand, with the device in their keys."""
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        for frame in placing_frames(operand):
            source = source_of(frame["path"])
            node = source.expression_at(frame) if source is not None else None
            function = source.function_around(node) if source is not None and node is not None else None
            if source is not None and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                base = _KNOWN if failure.finding["code"] == _CACHE else _DOUBT
                yield from _keyed(source, function, partner, base)
    if failure.finding["code"] == _CACHE:
        yield from _of_any_function(failure)


def _of_any_function(failure: Failure) -> Iterator[Change]:
    """The functions that look for a key and else store under it, also those that made no operand: a helper object's."""
    _, partner = next(failure.pairs(), (None, None))
    for path in failure.own_paths if partner is not None else ():
        source = source_of(path)
        for function in ast.walk(source.tree) if source is not None else ():
            if source is not None and partner is not None and isinstance(function, ast.FunctionDef):
                yield from _keyed(source, function, partner, _KNOWN + 1)


def _keyed(source: Source, function: ast.AST, partner: Mapping[str, Any], base: int) -> Iterator[Change]:
    for key in dict.fromkeys(_keys(source, function)):
        assigned = [
            node for node in ast.walk(function)
            if isinstance(node, ast.Assign) and [source.segment(target) for target in node.targets] == [key]
        ]  # fmt: skip
        for device, doubt in devices(source, function.body[-1], partner):  # type: ignore[attr-defined]
            if device.startswith('"'):
                continue
            places = [each.value for each in assigned] if assigned else [
                node for node in _indices(function) if source.segment(node) == key
            ]  # fmt: skip
            edits = tuple(source.replace(place, _with(source, place, device)) for place in places)
            text = message("make {device} a part of the key `{key}`", device=device, key=key)
            yield Change(text, "creation_site", edits, "DV113", base + doubt)


def _keys(source: Source, function: ast.AST) -> Iterator[str]:
    """The keys under which ``function`` stores in a dictionary and by which it looks there."""
    stored = {
        source.segment(node.slice) for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }  # fmt: skip
    yield from (source.segment(node) for node in _indices(function) if source.segment(node) in stored)


def _indices(function: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript):
            yield node.slice
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            yield node.left
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            yield from node.args[:1]


def _with(source: Source, key: ast.expr, device: str) -> str:
    if isinstance(key, ast.Tuple):
        parts = [source.segment(each) for each in key.elts]
        return f"({', '.join([*parts, device])})"
    return f"({source.segment(key)}, {device})"
