"""What could be changed: each module here proposes changes of one sort for one finding."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from devsan.errors import DevsanError
from devsan.fix.change import Change, texts
from devsan.fix.failure import Failure, showing


def candidates(failure: Failure) -> list[Change]:
    """Returns the changes to try for ``failure``, the most promising first, each once."""
    found: dict[object, Change] = {}
    with showing(failure.texts):
        for change in _proposed(failure):
            try:
                key = frozenset(texts(change.edits, failure.texts).items())
            except (DevsanError, ValueError, SyntaxError):  # the file is another one by now
                continue
            if change.edits and key not in found and _is_python(dict(key)):
                found[key] = change
    return sorted(found.values(), key=lambda change: _rank(change))


def _proposed(failure: Failure) -> Iterator[Change]:
    for entry in sorted(pkgutil.iter_modules(__path__), key=lambda each: each.name):
        propose = getattr(importlib.import_module(f"{__name__}.{entry.name}"), "propose", None)
        if propose is not None:
            yield from propose(failure)


PATCH = "upstream_patch"
"""A change of a library: shown, and never written."""

KINDS = ("configuration", "map", "creation_site", "statement_order", "use_site", "workaround", "one_device",
         PATCH)  # fmt: skip
"""Where a change is made, the best place first."""


def _rank(change: Change) -> tuple[int, int]:
    place = KINDS.index(change.kind) if change.kind in KINDS else len(KINDS)
    return (0 if change.code else 1, place)


def _is_python(changed: dict[str, str]) -> bool:
    for path, text in changed.items():
        if path.endswith(".py"):
            try:
                compile(text, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                return False
    return True
