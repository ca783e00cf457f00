"""Placements that the recorder had no room for (NOTE [When the recorder is full] in core/record/placement.h): what is
said instead of the line that placed a tensor, so that its absence is never silent."""

from __future__ import annotations

from devsan import core
from devsan.diagnostics.messages import message
from devsan.introspect.provenance.reader import ProvenanceReader
from devsan.sizes import write_size


def dropped_of(name: str, number: int) -> str:
    """Returns what to say of a tensor called ``name`` that carries the placement ``number``; "" if all is known.

    Args:
        name: of the tensor.
        number: 0 for a tensor of which nothing was ever noted.
    """
    known = ProvenanceReader().known_before_dropped(number) if core.is_here() else None
    if known is None:
        return ""
    size = write_size(core.recording_budget())
    if known:
        return message(
            "Earlier placements of {name} were dropped: the recorder is full ({size}). Raise it with --history.",
            name=name, size=size,
        )  # fmt: skip
    return message(
        "The placement of {name} was dropped: the recorder is full ({size}). Raise it with --history.",
        name=name, size=size,
    )  # fmt: skip
