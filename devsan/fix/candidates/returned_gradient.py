"""The gradient that a backward of the program returns goes to the device of the input that it is of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from devsan.fix.candidates.use_site import move
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, source_of
from devsan.fix.scope import devices

_DOUBT = 12
_REFUSED = re.compile(r"Function (\w+)Backward returned an invalid gradient at index (\d+) - expected device (\S+)")
"""torch/csrc/autograd/engine.cpp, validate_outputs; the node of an autograd.Function has the name of its class."""


def propose(failure: Failure) -> Iterator[Change]:
    """Yields moves of the returned gradient, in each ``backward`` of that name."""
    found = _REFUSED.search(failure.finding["sentence"]) if failure.finding["kind"] == "gradient" else None
    for path in failure.own_paths if found is not None else ():
        source = source_of(path)
        for node in _returned(source, found[1], int(found[2])) if source is not None and found is not None else ():
            assert source is not None and found is not None
            partner = {"name": "", "device": found[3], "provenance": ()}
            for device, doubt in devices(source, node, partner):
                yield move(source, node, device, source.segment(node), _DOUBT + doubt)


def _returned(source: Source, name: str, index: int) -> Iterator[ast.expr]:
    for kind in ast.walk(source.tree):
        for method in kind.body if isinstance(kind, ast.ClassDef) and kind.name == name else ():
            if isinstance(method, ast.FunctionDef) and method.name == "backward":
                for node in ast.walk(method):
                    if isinstance(node, ast.Return) and node.value is not None:
                        value = node.value
                        elements = value.elts if isinstance(value, ast.Tuple) else [value]
                        yield from elements[index : index + 1]
