"""A patch of a library: an operand goes to the device of the other one where the library joins them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devsan.fix.candidates import PATCH
from devsan.fix.candidates.use_site import doubt_of, is_read, move
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.origins import operand_at
from devsan.fix.scope import HOST, devices
from devsan.fix.source import source_of

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
            base = doubt_of(failure, operand, partner, _DOUBT)
            for device, doubt in devices(source, node, partner)[:2] if not failure.is_written(operand) else ():
                if not device.startswith('"') and base + doubt < HOST:  # a library cannot know a GPU by its number
                    yield replace(move(source, node, device, operand["name"] or source.segment(node), base + doubt),
                                  kind=PATCH)  # fmt: skip
