"""The edits that the diagnosis offers itself."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.codec import diagnostic_of
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own

_USE_SITE = 8
_EACH_CALL = 23  # from the host: where it is made, one copy does
_LIBRARY = 90


def propose(failure: Failure) -> Iterator[Change]:
    """Yields a change for each fix of the finding that has edits."""
    diagnostic = diagnostic_of(failure.finding)
    use_site = _EACH_CALL if any(each["device"] == "cpu" for each in failure.operands) else _USE_SITE
    for fix in diagnostic.fixes:
        if fix.edits:
            if all(is_own(edit.place.path or edit.place.file) for edit in fix.edits):
                doubt = use_site if fix.kind == "use_site" else 0
                yield Change(fix.text, fix.kind, fix.edits, diagnostic.code, doubt)
            else:
                yield Change(fix.text, "upstream_patch", fix.edits, doubt=_LIBRARY)
