"""An element of a tuple, a list or a dictionary moves where it is put in: as what lies beside it does."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import moved, placed
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.origins import origin_of
from devsan.fix.scope import devices
from devsan.fix.source import Source

_AS_BESIDE = 9
_DOUBT = 18


def propose(failure: Failure) -> Iterator[Change]:
    """Yields moves of the element of a display, ``c`` of ``state = (h.to(device), c)``, that an operand is."""
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        origin = origin_of(failure, operand)
        node = _element(origin.node, operand) if origin is not None else None
        if origin is None or node is None or isinstance(node, ast.Starred):
            continue
        source = origin.source
        found = dict.fromkeys(_beside(source, origin.node), _AS_BESIDE)
        for device, doubt in devices(source, node, partner):
            found.setdefault(device, _DOUBT + doubt)
        for device, doubt in found.items():
            text = message("put `{name}` on {device} where it is made", name=source.segment(node),
                           device=device.strip('"'))  # fmt: skip
            doubt += 0 if operand["offending"] else 3
            yield Change(text, "creation_site", (source.replace(node, _placed(source, node, device)),), doubt=doubt)


def _element(display: ast.expr, operand: Mapping[str, Any]) -> ast.expr | None:
    """The element of ``display`` that the last index of an operand's name says: the second for ``state[1]``."""
    try:
        index = ast.parse(operand["name"], mode="eval").body
        key = ast.literal_eval(index.slice) if isinstance(index, ast.Subscript) else None
    except (SyntaxError, ValueError):
        return None
    if isinstance(index, ast.Subscript) and not isinstance(index.value, ast.Name):
        return None
    if isinstance(display, ast.Dict):
        named = zip(display.keys, display.values, strict=True)
        return next((value for name, value in named if isinstance(name, ast.Constant) and name.value == key), None)
    if isinstance(display, (ast.Tuple, ast.List)) and isinstance(key, int) and key < len(display.elts):
        return display.elts[key]
    return None


def _beside(source: Source, display: ast.expr) -> list[str]:
    """Where other elements of ``display`` are moved to."""
    elements = display.values if isinstance(display, ast.Dict) else getattr(display, "elts", [])
    return [source.segment(each.args[0]) for each in elements
            if isinstance(each, ast.Call) and moved(each) is not None and each.args]  # fmt: skip


def _placed(source: Source, node: ast.expr, device: str) -> str:
    if isinstance(node, ast.Call):
        return placed(source, node, device)
    text = source.segment(node)
    atom = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
    return f"{text}.to({device})" if atom else f"({text}).to({device})"
