"""The same changes but one: those behind it were made in files that it had changed already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from devsan.diagnostics.diagnostic import Edit
from devsan.errors import DevsanError
from devsan.fix.change import Change, applied, offset_in, texts
from devsan.fix.patch import text_of


@dataclass(frozen=True)
class _Span:
    """What an edit has put into a text.

    Attributes:
        begin: its offset in that text.
        length: of what was put there.
        was: the length of what was there before.
    """

    begin: int
    length: int
    was: int


def without(changes: Sequence[Change], number: int) -> tuple[Change, ...]:
    """Returns ``changes`` but the one of this number, with the places that the others have then.

    Raises:
        DevsanError: a change behind it changes what it has written, or the changes do not fit.
    """
    dropped = changes[number]
    fewer, texts_with = applied(changes[:number]), applied(changes[: number + 1])
    spans = {path: _spans(dropped, path, fewer) for path in dropped.paths}
    kept = list(changes[:number])
    for change in changes[number + 1 :]:
        edits = tuple(_moved(edit, spans.get(_path(edit), ()), texts_with, fewer) for edit in change.edits)
        spans = {path: [_behind(span, change, path, texts_with) for span in each] for path, each in spans.items()}
        texts_with.update(texts(change.edits, texts_with))
        fewer.update(texts(edits, fewer))
        kept.append(replace(change, edits=edits))
    return tuple(kept)


def _spans(change: Change, path: str, before: Mapping[str, str]) -> list[_Span]:
    """What ``change`` puts into a file whose text is in ``before``, by the offsets that it leads to."""
    edits = sorted(_of(change, path), key=lambda edit: (_offset(edit, before), len(edit.before)))
    spans, shift = [], 0
    for edit in edits:
        spans.append(_Span(_offset(edit, before) + shift, len(edit.after), len(edit.before)))
        shift += len(edit.after) - len(edit.before)
    return spans


def _moved(edit: Edit, spans: Sequence[_Span], there: Mapping[str, str], fewer: Mapping[str, str]) -> Edit:
    """The edit where it belongs in the texts ``fewer``, which are ``there`` without ``spans``."""
    begin = _offset(edit, there)
    shift, is_moved = 0, False
    for span in spans:
        if begin >= span.begin + span.length:
            shift, is_moved = shift + span.was - span.length, True
        elif begin + len(edit.before) > span.begin or begin > span.begin:
            raise DevsanError(f"expected edits that do not depend on each other, got {edit.before!r} at {edit.place}")
    if not is_moved:
        return edit
    text = _text(_path(edit), fewer)[: begin + shift]
    line, column = text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1
    place = replace(edit.place, line=line, column=column)
    if edit.place.end_line:
        place = replace(place, end_line=edit.place.end_line + line - edit.place.line)
    if edit.place.end_column and edit.place.column and edit.place.end_line == edit.place.line:
        place = replace(place, end_column=edit.place.end_column + column - edit.place.column)
    return replace(edit, place=place)


def _behind(span: _Span, change: Change, path: str, before: Mapping[str, str]) -> _Span:
    """Where ``span`` is when ``change`` is made."""
    last = span.begin - (span.length == 0)  # where nothing was put, an edit at its place is behind it
    edits = [edit for edit in _of(change, path) if _offset(edit, before) <= last]
    return replace(span, begin=span.begin + sum(len(edit.after) - len(edit.before) for edit in edits))


def _of(change: Change, path: str) -> list[Edit]:
    return [edit for edit in change.edits if _path(edit) == path]


def _offset(edit: Edit, known: Mapping[str, str]) -> int:
    return offset_in(_text(_path(edit), known), edit)


def _text(path: str, known: Mapping[str, str]) -> str:
    return known[path] if path in known else text_of(path)


def _path(edit: Edit) -> str:
    return edit.place.path or edit.place.file
