"""A patch of a library: an operand goes to the device of the other one where the library joins them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devsan.fix.candidates import PATCH
from devsan.fix.candidates.use_site import is_read, move, operand_at
from devsan.fix.change import Change
from devsan.fix.failure import Failure, source_of
from devsan.fix.scope import LITERAL, devices

_DOUBT = 10  # behind what the diagnosis offers


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the moves of one operand to another in the library's innermost file."""
    if not failure.is_mixed:
        return
    for operand, partner in failure.pairs():
        for frame in failure.library_frames[:1]:
            source = source_of(frame["path"])
            node = operand_at(source, frame, operand) if source is not None else None
            if source is None or node is None or not is_read(source, node):
                continue
            for device, doubt in devices(source, node, partner)[:2]:
                if doubt < LITERAL:  # a library cannot know a GPU by its number
                    name = operand["name"] or source.segment(node)
                    yield replace(
                        move(source, node, device, name, _DOUBT + (0 if operand["offending"] else 3) + doubt),
                        kind=PATCH,
                    )
