"""The gradient that a backward of the program returns goes to the device of the input that it is of."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator

from devsan.diagnostics.diagnostic import Edit
from devsan.fix.candidates.use_site import move
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.scope import devices, positional
from devsan.fix.source import Source, source_of

_DOUBT = 12
_KEPT = 9
_REFUSED = re.compile(r"Function (\w+)Backward returned an invalid gradient at index (\d+) - expected device (\S+)")
"""torch/csrc/autograd/engine.cpp, validate_outputs; the node of an autograd.Function has the name of its class."""


def propose(failure: Failure) -> Iterator[Change]:
    """Yields moves of the returned gradient, in each ``backward`` of that name."""
    found = _REFUSED.search(failure.finding["sentence"]) if failure.finding["kind"] == "gradient" else None
    for path in failure.own_paths if found is not None else ():
        source = source_of(path)
        if source is None or found is None:
            continue
        index = int(found[2])
        partner = {"name": "", "device": found[3], "provenance": ()}
        for methods in _classes(source, found[1]):
            for node in _returned(methods["backward"], index):
                for device, doubt in devices(source, node, partner):
                    yield move(source, node, device, source.segment(node), _DOUBT + doubt)
                kept = _kept_device(source, methods, index)
                if kept is not None:
                    edit, device = kept
                    change = move(source, node, device, source.segment(node), _KEPT)
                    yield dataclasses.replace(change, edits=(edit, *change.edits))


def _classes(source: Source, name: str) -> Iterator[dict[str, ast.FunctionDef]]:
    """Yields the methods of each class of that name that has a ``backward``."""
    for kind in ast.walk(source.tree):
        if isinstance(kind, ast.ClassDef) and kind.name == name:
            methods = {each.name: each for each in kind.body if isinstance(each, ast.FunctionDef)}
            if "backward" in methods:
                yield methods


def _returned(backward: ast.FunctionDef, index: int) -> Iterator[ast.expr]:
    for node in ast.walk(backward):
        if isinstance(node, ast.Return) and node.value is not None:
            value = node.value
            elements = value.elts if isinstance(value, ast.Tuple) else [value]
            yield from elements[index : index + 1]


def _kept_device(source: Source, methods: dict[str, ast.FunctionDef], index: int) -> tuple[Edit, str] | None:
    """What has ``forward`` keep the device of its input in the context, and how ``backward`` calls that device."""
    forward, context = methods.get("forward"), positional(methods["backward"])[:1]
    names = positional(forward) if forward is not None else []
    if forward is None or "setup_context" in methods or len(names) <= index + 1 or not context:
        return None
    body = forward.body[1:] if ast.get_docstring(forward) is not None else forward.body
    has_it = any(ast.unparse(each.value) == f"{names[index + 1]}.device"
                 for each in ast.walk(forward) if isinstance(each, ast.Assign))  # fmt: skip
    if not body or has_it:
        return None
    kept = f"{names[index + 1]}_device"
    line = f"{names[0]}.{kept} = {names[index + 1]}.device"
    return source.insert_before(body[0], [line]), f"{context[0]}.{kept}"
