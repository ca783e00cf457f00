"""A patch of a library: an operand goes to the device of the other one where the library joins them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from devsan.fix.candidates import PATCH
from devsan.fix.candidates.use_site import device_of, is_read, move
from devsan.fix.change import Change
from devsan.fix.failure import Failure, source_of


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the moves of one operand to another in the library's innermost file."""
    if not failure.in_library:
        return
    for operand, partner in failure.pairs():
        for frame in failure.library_frames[:1]:
            change = _move(frame, operand, partner)
            if change is not None:
                yield replace(change, kind=PATCH)



def _move(frame: Mapping[str, Any], operand: Mapping[str, Any], partner: Mapping[str, Any]) -> Change | None:
    source = source_of(frame["path"])
    node = source.expression_at(operand) if source is not None and operand["line"] else None
    if source is None or node is None or not is_read(source, node):
        return None
    return move(source, node, device_of(partner, source, node), operand["name"] or source.segment(node))
