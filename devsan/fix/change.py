"""A change that may be a fix: edits of files, and the texts that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from devsan.diagnostics.diagnostic import Edit
from devsan.errors import DevsanError
from devsan.fix.patch import text_of

DRAWS = "draws"
"""The program draws other random numbers."""

TRAINS = "trains"
"""The optimizer gets parameters that it did not have."""

COPIES = "copies"
"""The program goes on with a copy of a tensor that it kept under another name, which stays as it was; or no longer."""


@dataclass(frozen=True)
class Change:
    """Something to try.

    Attributes:
        text: what it does, one sentence in the imperative; a ``Message``.
        kind: where it is made: "configuration", "map", "creation_site", "use_site", "workaround", "statement_order".
        edits: of one or more files.
        code: of the cause that proposes it; "" where none does.
        doubt: what speaks against it; the smallest is tried first. See NOTE [Doubts] in ``candidates``.
        alters: what it may alter on one device too: DRAWS, TRAINS, COPIES, or "" for nothing.
        halfway: whether it is meant to bring about another failure, of what it has put elsewhere.
    """

    text: str
    kind: str
    edits: tuple[Edit, ...]
    code: str = ""
    doubt: int = 0
    alters: str = ""
    halfway: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Returns the files that it changes."""
        return tuple(sorted({edit.place.path or edit.place.file for edit in self.edits}))


def joined(changes: Sequence[Change]) -> tuple[Edit, ...]:
    """Returns the edits of all changes of the same files, each once."""
    return tuple(dict.fromkeys(edit for change in changes for edit in change.edits))


def applied(changes: Sequence[Change]) -> dict[str, str]:
    """Returns the new text of each file that ``changes`` change, one after the other.

    Args:
        changes: the places of each are those of the files as the ones before it left them.

    Raises:
        DevsanError: as ``texts`` does.
    """
    after: dict[str, str] = {}
    for change in changes:
        after.update(texts(change.edits, after))
    return after


def texts(edits: Sequence[Edit], before: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the new text of each file that ``edits`` change.

    Args:
        edits: their places are those of the files as they are.
        before: texts to change instead of the files', by path.

    Raises:
        DevsanError: a file cannot be read, the text that an edit replaces is not at its place, or two edits overlap.
    """
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.place.path or edit.place.file, []).append(edit)
    return {path: _edited(path, each, (before or {}).get(path)) for path, each in by_path.items()}


def _edited(path: str, edits: Sequence[Edit], text: str | None) -> str:
    if text is None:
        try:
            text = text_of(path)
        except (OSError, SyntaxError, UnicodeError) as error:
            raise DevsanError(f"expected a source file, got {path!r}: {error}") from error
    spans = []
    for edit in edits:
        begin = offset_in(text, edit)
        if text[begin : begin + len(edit.before)] != edit.before:
            raise DevsanError(f"expected {edit.before!r} at {edit.place}, got another text")
        spans.append((begin, begin + len(edit.before), edit.after))
    # The last first, so that the places of the others stay; insertions at one place keep their order.
    spans.sort(key=lambda span: span[:2])
    for (_, end, _), (begin, _, _) in pairwise(spans):
        if begin < end:
            raise DevsanError(f"expected edits of different places of {path!r}, got two of the same")
    for begin, end, after in reversed(spans):
        text = text[:begin] + after + text[end:]
    return text


def offset_in(text: str, edit: Edit) -> int:
    """Returns where in ``text`` an edit begins.

    Raises:
        DevsanError: the text has no such line.
    """
    lines = text.split("\n")
    line = edit.place.line
    if not 1 <= line <= len(lines):
        raise DevsanError(f"expected a line of the file at {edit.place}, got none")
    begin = sum(len(each) + 1 for each in lines[: line - 1])
    if edit.place.column:
        return begin + edit.place.column - 1
    # An edit of whole lines begins behind the indentation of the first one.
    while begin < len(text) and text[begin] in " \t":
        begin += 1
    return begin
