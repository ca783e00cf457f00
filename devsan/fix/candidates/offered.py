"""The edits that the diagnosis offers itself."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.codec import diagnostic_of
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own

_USE_SITE = 8
_LIBRARY = 90


def propose(failure: Failure) -> Iterator[Change]:
    """Yields a change for each fix of the finding that has edits."""
    diagnostic = diagnostic_of(failure.finding)
    for fix in diagnostic.fixes:
        if fix.edits:
            if all(is_own(edit.place.path or edit.place.file) for edit in fix.edits):
                yield Change(fix.text, fix.kind, fix.edits, diagnostic.code, _USE_SITE if fix.kind == "use_site" else 0)
            else:
                yield Change(fix.text, "upstream_patch", fix.edits, doubt=_LIBRARY)
