"""The edits that the diagnosis offers itself."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.codec import diagnostic_of
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own


def propose(failure: Failure) -> Iterator[Change]:
    """Yields a change for each fix of the finding that has edits."""
    diagnostic = diagnostic_of(failure.finding)
    for fix in diagnostic.fixes:
        if fix.edits:
            own = all(is_own(edit.place.path or edit.place.file) for edit in fix.edits)
            yield Change(fix.text, fix.kind if own else "upstream_patch", fix.edits, diagnostic.code if own else "")
