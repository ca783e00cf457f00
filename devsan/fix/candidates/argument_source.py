"""What a helper returned goes to the right device where it is bound: of an argument, in the calling function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.candidates.creation_site import put
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.origins import origin_of
from devsan.fix.scope import devices

_DOUBT = 18


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the assignments from which an operand comes, in the function that failed, or in its callers."""
    for operand, partner in failure.pairs() if failure.is_mixed else ():
        origin = origin_of(failure, operand)
        if origin is None or not isinstance(origin.node, ast.Call):
            continue
        source, made = origin.source, origin.node
        name = source.segment(source.statement_around(made).targets[0])  # type: ignore[attr-defined]
        for device, doubt in devices(source, made, partner):
            text = message("put `{name}` on {device} where it is made", name=name, device=device.strip('"'))
            base = _DOUBT + origin.frame + (0 if operand["offending"] else 3)
            yield Change(text, "creation_site", (put(source, made, device),), doubt=base + doubt)
