"""What could be changed: each module here proposes changes of one sort for one finding.

NOTE [Doubts] Every candidate is an experiment that costs seconds, and the search ends at the first that is verified, so
that the order decides what a user sees. A change has a doubt; the smallest is tried first:

  0 to 9    what the diagnosis offers; a registration, a statement's place, a result that was thrown away
  10 to 19  the boundary, where a program says what a library needs: NumPy, generators, ordinals, a kernel's device
  20 to 29  the place where a tensor is made or used, by an expression that is in scope
  30 to 39  a move that should not be; what is kept follows
  +25       a device that is written out (scope.LITERAL)
  +40       towards the host (scope.HOST)

What one principle changes at all places of a run is one candidate more, behind the change of the first place; far
behind it where a value is moved wherever it is used.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import replace

from devsan.diagnostics.messages import Message, message
from devsan.errors import DevsanError
from devsan.fix.change import Change, joined, texts
from devsan.fix.failure import Failure
from devsan.fix.source import showing


def candidates(failure: Failure) -> list[Change]:
    """Returns the changes to try for ``failure``, the most promising first, each once."""
    found: dict[object, Change] = {}
    with showing(failure.texts):
        own = list(_proposed(failure))
        elsewhere = [list(_proposed(Failure(other))) for other in failure.others[:_MOST_PLACES]]
        for change in (*own, *_everywhere(own, elsewhere)):
            try:
                key = frozenset(texts(change.edits, failure.texts).items())
            except (DevsanError, ValueError, SyntaxError):  # the file is another one by now
                continue
            if change.edits and _is_python(dict(key)) and (key not in found or change.doubt < found[key].doubt):
                found[key] = change
    return sorted(found.values(), key=_rank)


_MOST_PLACES = 16
_USES = 15  # one value that is moved wherever it is used: it may be made elsewhere instead


def _proposed(failure: Failure) -> Iterator[Change]:
    for entry in sorted(pkgutil.iter_modules(__path__), key=lambda each: each.name):
        propose = getattr(importlib.import_module(f"{__name__}.{entry.name}"), "propose", None)
        if propose is not None:
            yield from propose(failure)


def _everywhere(own: Sequence[Change], elsewhere: Sequence[Sequence[Change]]) -> Iterator[Change]:
    """Each change together with the first of its sort for every other finding of the run."""
    for change in own:
        same = [change]
        for others in elsewhere:
            same += [each for each in others if _sort(each) == _sort(change)][:1]
        edits = joined(same)
        if len(edits) > len(change.edits):
            text = message("{change}, and do so at all places of this run", change=change.text)
            more = _USES if change.kind == "use_site" else 1
            yield replace(change, text=text, edits=edits, doubt=change.doubt + more)


def _sort(change: Change) -> tuple[object, ...]:
    return (change.kind, change.text.id if isinstance(change.text, Message) else change.text, change.doubt)


PATCH = "upstream_patch"
"""A change of a library: shown, and never written."""

KINDS = ("configuration", "map", "creation_site", "statement_order", "use_site", "workaround", "one_device",
         PATCH)  # fmt: skip
"""Where a change is made, the best place first."""


def _rank(change: Change) -> tuple[int, int]:
    return (change.doubt, KINDS.index(change.kind) if change.kind in KINDS else len(KINDS))


def _is_python(changed: dict[str, str]) -> bool:
    for path, text in changed.items():
        if path.endswith(".py"):
            try:
                compile(text, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                return False
    return True
