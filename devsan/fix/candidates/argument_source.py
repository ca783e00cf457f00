"""An argument goes to the right device where the calling function makes it, once, and not in every call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.candidates.creation_site import put
from devsan.fix.candidates.rebinding import assigned
from devsan.fix.candidates.use_site import operand_at
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, source_of
from devsan.fix.scope import devices

_DOUBT = 19


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the assignments of callers from which an operand came as an argument, the innermost first."""
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        for number, (source, made) in enumerate(_makers(failure, operand)):
            name = source.segment(source.statement_around(made).targets[0])  # type: ignore[attr-defined]
            for device, doubt in devices(source, made, partner):
                text = message("put `{name}` on {device} where it is made", name=name, device=device.strip('"'))
                base = _DOUBT + number + (0 if operand["offending"] else 3)
                yield Change(text, "creation_site", (put(source, made, device),), doubt=base + doubt)


def _makers(failure: Failure, operand: Mapping[str, Any]) -> Iterator[tuple[Source, ast.Call]]:
    """The calls whose results are passed down to ``operand``, with their files."""
    frames = failure.own_frames
    source = source_of(frames[0]["path"]) if frames else None
    node = operand_at(source, frames[0], operand) if source is not None else None
    for frame in frames[1:]:
        place = _place_of(source, node) if source is not None and isinstance(node, ast.Name) else None
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        if place is None or source is None or not isinstance(call, ast.Call):
            return
        node = _given(call, *place)
        found = assigned(source, node) if isinstance(node, ast.Name) else None
        if found is not None:
            if isinstance(found[0], ast.Call):
                yield source, found[0]
            return


def _place_of(source: Source, name: ast.Name) -> tuple[int, str] | None:
    """Position and name of the parameter that ``name`` is; None where it is none, or another value by then."""
    function = source.function_around(name)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or assigned(source, name) is not None:
        return None
    positional = [each.arg for each in [*function.args.posonlyargs, *function.args.args]]
    if name.id in positional:
        return positional.index(name.id) - (positional[0] == "self"), name.id
    return (-1, name.id) if name.id in {each.arg for each in function.args.kwonlyargs} else None


def _given(call: ast.Call, position: int, name: str) -> ast.expr | None:
    for each in call.keywords:
        if each.arg == name:
            return each.value
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    return call.args[position] if 0 <= position < len(call.args) and not starred else None
