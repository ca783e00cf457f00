"""Source lines that are wider than the terminal: what lies between the labels gives way to "...".

    loss = loss_fct(shift_logits...size(-1)), shift_labels.view(-1))
                    --------------            ^^^^^^^^^^^^^^^^^^^^^

A line that the terminal breaks would leave the labels under other text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from devsan.diagnostics.diagnostic import Label
from devsan.render.terminal.text import TAB, display_width

_Label = TypeVar("_Label", bound=Label)

_DOTS = "..."
_KEPT = ((14, 6), (6, 3), (2, 1))  # columns that stay at both ends of a piece that is cut; fewer where they must


def without_tabs(text: str, labels: Sequence[_Label]) -> tuple[str, list[_Label]]:
    """Returns the line with spaces for tabs, and the labels moved along."""
    if "\t" not in text:
        return text, list(labels)

    def at(place: int) -> int:
        return place + (TAB - 1) * text.count("\t", 0, place)

    return text.replace("\t", " " * TAB), [replace(each, start=at(each.start), end=at(each.end)) for each in labels]


def dedented(text: str, labels: Sequence[_Label], columns: int) -> tuple[str, list[_Label]]:
    """Returns the line without its first ``columns`` spaces."""
    moved = [replace(each, start=max(0, each.start - columns), end=max(0, each.end - columns)) for each in labels]
    return text[columns:], moved


def cut(text: str, labels: Sequence[_Label], room: int) -> tuple[str, list[_Label]]:
    """Returns ``text`` in at most ``room`` columns if the labels allow that, and the labels where their text is now.

    What is behind the last label goes first, then what is between them, then the middle of long labeled pieces.
    """
    text = text.rstrip()
    for kept in _KEPT:
        shorter, moved = _cut(text, labels, room, *kept)
        if display_width(shorter) <= room:
            break
    return shorter, moved


def _cut(text: str, labels: Sequence[_Label], room: int, head: int, tail: int) -> tuple[str, list[_Label]]:
    excess = display_width(text) - room
    removed: list[tuple[int, int]] = []
    for start, end in _pieces(text, labels):
        if excess <= 0:
            break
        if end == len(text) and not any(label.end >= end for label in labels):  # behind the last label: from the end
            first_kept, last_kept = max(start, end - excess - len(_DOTS)), end
        else:  # as much as is needed of the middle
            middle, half = (start + head + end - tail) // 2, (excess + len(_DOTS) + 1) // 2
            first_kept, last_kept = max(start + head, middle - half), min(end - tail, middle + half)
        gained = display_width(text[first_kept : max(first_kept, last_kept)]) - len(_DOTS)
        if gained > 0:
            removed.append((first_kept, last_kept))
            excess -= gained
    return _without(text, labels, sorted(removed))


def shortened(text: str, room: int) -> str:
    """Returns ``text`` in at most ``room`` columns: without its middle where it is wider."""
    return cut(text, [Label(0, 0, len(text))], room)[0]


def beginning(text: str, room: int) -> str:
    """Returns ``text`` in at most ``room`` columns: without its end where it is wider, "" where nothing has room."""
    if display_width(text) <= room:
        return text
    while text and display_width(f"{text}{_DOTS}") > room:
        text = text[:-1]
    return f"{text}{_DOTS}" if text else ""


def _pieces(text: str, labels: Sequence[Label]) -> list[tuple[int, int]]:
    """The stretches that may give way, in that order."""
    spans = sorted((label.start, min(label.end, len(text))) for label in labels)
    gaps, at = [], 0
    for start, end in spans:
        if start > at:
            gaps.append((at, start))
        at = max(at, end)
    behind = [(at, len(text))] if at < len(text) else []
    apart = [span for number, span in enumerate(spans) if all(span[0] >= other[1] for other in spans[:number])]
    return [*behind, *gaps, *sorted(apart, key=lambda span: span[0] - span[1])]


def _without(text: str, labels: Sequence[_Label], removed: Sequence[tuple[int, int]]) -> tuple[str, list[_Label]]:
    def at(place: int, is_end: bool = False) -> int:
        moved = place
        for start, end in removed:
            if place >= end:
                moved += len(_DOTS) - (end - start)
            elif place > start:
                moved = moved - (place - start) + (len(_DOTS) if is_end else 0)
        return moved

    for start, end in reversed(removed):
        text = text[:start] + _DOTS + text[end:]
    return text, [replace(each, start=at(each.start), end=at(each.end, is_end=True)) for each in labels]
