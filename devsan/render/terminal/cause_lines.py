"""What a diagnosis adds to the report on a terminal, below torch's sentence.

  labels  int64[6]      placed on cuda:1 by this program
   --> library.py:4:20  batch = {"labels": torch.zeros(6, device="cuda:1")}

note: Two results of different devices meet in a loss.
note: a naive `.to(device)`: moving the large side (logits) copies ...
more: devsan explain DV104
help: move `labels` to the device of `logits` before they are combined (likely)
  18 - return F.cross_entropy(logits, labels)
  18 + return F.cross_entropy(logits, labels.to(logits.device))
  or: let the map put the modules that are combined here on one GPU (possible)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import dedent

from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Place
from devsan.diagnostics.messages import Message
from devsan.render.changed_rows import rows_of_edit
from devsan.render.language import Language
from devsan.render.terminal.diff_lines import changed_lines
from devsan.render.terminal.memory_lines import memory_lines
from devsan.render.terminal.paths import Paths
from devsan.render.terminal.placed_lines import placed_lines
from devsan.render.terminal.text import Line, display_width, paragraph

_TOLD = 3  # sentences of evidence; the first one decides
_OTHERS = 3  # fixes that are named beside the best
_SENTENCE_END = re.compile(r"(?<=\.) |(?<=。)")
_BRIEF = 24  # columns of a first sentence that does not say enough alone


def cause_lines(cause: Diagnostic, say: Language, paths: Paths, width: int, room: int) -> Iterator[Line]:
    """Yields the lines about the cause, below the places and torch's sentence, in ``width`` columns; source lines in
    ``room``."""
    if cause.placed:
        yield []
        yield from placed_lines(cause.placed, cause.sites, say, paths, width)
    if cause.memory is not None and cause.memory.parts:
        yield []
        yield from memory_lines(cause.memory, say, width)
    yield []
    if cause.candidates:
        yield from _candidate_lines(cause, say, paths, width)
    elif cause.evidence:
        told = paths.text(say(" ").join(say.text(each) for each in cause.evidence[:_TOLD]))
        yield from paragraph(f"{say('note')}: ", "note", told, width)
    if cause.naive_fix and cause.fixes:
        yield from paragraph(f"{say('note')}: ", "note", _naive_fix(cause.naive_fix, say), width)
    codes = [code for code, _ in cause.candidates] or [cause.code]
    yield from paragraph(f"{say('more')}: ", "note", ", ".join(f"devsan explain {code}" for code in codes), width)
    change: tuple[Edit, ...] = ()  # one change is shown, that of the best fix that has one
    for number, fix in enumerate(cause.fixes[: 1 + _OTHERS]):  # last, where the eye ends
        shown, change = (() if change else fix.edits), change or fix.edits
        word = f"  {say('or')}" if number else say("help")
        yield from _fix_lines(fix, word, shown, cause.sites, say, paths, width, room)


def _candidate_lines(cause: Diagnostic, say: Language, paths: Paths, width: int) -> Iterator[Line]:
    """One paragraph a candidate: its name, and what was seen of it."""
    many = len(cause.candidates) > 1
    why = "the evidence fits several causes" if many else "what was seen is not enough to be sure of"
    yield from paragraph(f"{say('undecided')}: ", "note", say(why), width)
    for code, name in cause.candidates:
        seen = [_of_candidate(each) for each in cause.evidence if each.startswith(f"{code}: ")][:_TOLD]
        told = f": {say(' ').join(map(say.text, seen))}" if seen else ""
        yield from paragraph("  ", "", f"{code} {name}{paths.text(told)}", width, 6)


def _of_candidate(evidence: str) -> str:
    """What was seen, without the code of the candidate that it speaks for."""
    if isinstance(evidence, Message) and "sentence" in evidence.arguments:
        return evidence.arguments["sentence"]
    return evidence.partition(": ")[2]


def _naive_fix(text: str, say: Language) -> str:
    """The first sentence; the whole where that one says too little."""
    said = say.text(text)
    first = _SENTENCE_END.split(said, maxsplit=1)[0]
    known = first if display_width(first) >= _BRIEF else said
    if known[:1].isascii() and known[1:2] != "`" and known[:2] not in ("A ", "I "):
        known = known[0].lower() + known[1:]
    return say("a naive `.to(device)`: {text}", text=known)


def _fix_lines(
    fix: Fix, word: str, edits: Sequence[Edit], sites: Sequence[Place], say: Language, paths: Paths, width: int,
    room: int,
) -> Iterator[Line]:  # fmt: skip
    text = say("{text} ({confidence})", text=say.text(fix.text), confidence=say(fix.confidence))
    yield from paragraph(f"{word}: ", "help", paths.text(text), width)
    lines: dict[tuple[str, int], list[Edit]] = {}
    for edit in edits:
        lines.setdefault((edit.place.file, edit.place.line), []).append(edit)
    for (file, line), together in lines.items():
        if not sites or file != sites[0].file:
            yield from paragraph("   --> ", "frame", paths.place(Place(file, line)), room)
        for edit in _of_whole_line(together, sites):
            yield from _changed(edit, room)


def _of_whole_line(edits: Sequence[Edit], sites: Sequence[Place]) -> Sequence[Edit]:
    """Edits of parts of one line that is shown, as one of the line."""
    at = edits[0].place
    shown = (site.lines[at.line] for site in sites if site.file == at.file and at.line in site.lines)
    text = changed = next(shown, "")
    for edit in sorted(edits, key=lambda edit: -edit.place.column):  # from the end: columns before it stay
        column = edit.place.column - 1
        if column < 0 or "\n" in edit.before or not text.startswith(edit.before, column):
            return edits
        changed = changed[:column] + edit.after + changed[column + len(edit.before) :]
    return [replace(edits[0], before=text.strip(), after=dedent(changed).strip())]


def _changed(edit: Edit, room: int) -> Iterator[Line]:
    """The lines that change."""
    rows = rows_of_edit(edit.before, edit.after, edit.place.line, edit.place.column)
    gutter = max(5, *(len(str(row.line)) + 2 for row in rows)) if rows else 5
    yield from changed_lines(rows, gutter, room)
