"""What a finding says of the modules that have the same fault."""

from __future__ import annotations

from devsan.diagnostics.messages import Message, plural


def like_it(modules: int) -> Message:
    """Returns the sentence that says how many other modules have the fault."""
    return plural("The same applies to {n} other module.", "The same applies to {n} other modules.", modules)
