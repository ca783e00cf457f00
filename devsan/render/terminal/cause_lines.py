"""What a diagnosis adds to the report on a terminal, below torch's sentence.

  labels  int64[6]      placed on cuda:1 by this program
   --> library.py:4:20  batch = {"labels": torch.zeros(6, device="cuda:1")}

note: Two results of different devices meet in a loss.
help: move `labels` to the device of `logits` before they are combined (likely)
  18 - return F.cross_entropy(logits, labels)
  18 + return F.cross_entropy(logits, labels.to(logits.device))
  or: let the map put the modules that are combined here on one GPU (possible)
note: a naive `.to(device)`: moving the large side (logits) copies ...
more: devsan explain DV104
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import dedent

from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Operand, Place
from devsan.diagnostics.messages import Message
from devsan.diagnostics.placement import placed_text
from devsan.render.edit_lines import edit_lines
from devsan.render.language import Language
from devsan.render.terminal.text import Line, display_width, padded, wrapped

_LONGEST = 28  # columns of a name that the table makes room for
_DEEP = 7  # columns in front of what stands below a place
_TOLD = 3  # sentences of evidence; the first one decides
_OTHERS = 3  # fixes that are named beside the best
_SENTENCE_END = re.compile(r"(?<=\.) |(?<=。)")
_BRIEF = 24  # columns of a first sentence that does not say enough alone


def cause_lines(cause: Diagnostic, say: Language, width: int) -> Iterator[Line]:
    """Yields the lines about the cause, below the places and torch's sentence."""
    if cause.placed:
        yield []
        yield from _table(cause.placed, say, width)
    yield []
    if cause.candidates:
        yield from _candidate_lines(cause, say, width)
    elif cause.evidence:
        told = say(" ").join(say.text(each) for each in cause.evidence[:_TOLD])
        yield from _headed(say("note"), "note", told, width)
    change: tuple[Edit, ...] = ()  # one change is shown, that of the best fix that has one
    for number, fix in enumerate(cause.fixes[: 1 + _OTHERS]):
        shown, change = (() if change else fix.edits), change or fix.edits
        yield from _fix_lines(fix, f"  {say('or')}" if number else say("help"), shown, cause.sites, say, width)
    if cause.naive_fix and cause.fixes:
        yield from _headed(say("note"), "note", _naive_fix(cause.naive_fix, say), width)
    codes = [code for code, _ in cause.candidates] or [cause.code]
    yield from _headed(say("more"), "help", ", ".join(f"devsan explain {code}" for code in codes), width)


def _table(placed: Sequence[Operand], say: Language, width: int) -> Iterator[Line]:
    names = [each.name or "" for each in placed if display_width(each.name or "") <= _LONGEST] or [""]
    kinds = [each.placement.kind if each.placement is not None else "" for each in placed]
    gap = "  " if any(kinds) else ""
    column = display_width(f"  {padded('', names)}{gap}{padded('', kinds)}  ")
    for each, kind in zip(placed, kinds, strict=True):
        name = padded(each.name or "", names) if display_width(each.name or "") <= _LONGEST else each.name
        head = f"  {name}{gap}{padded(kind, kinds)}"
        style = "offending" if each.offending else "other"
        said = _said(each, say)
        if display_width(f"{head}  {said}") <= width:
            yield [(f"{head}  ", style), (said, "")]
        else:
            yield [(head, style)]
            for line in wrapped(said, _DEEP, width=width):
                yield [(" " * _DEEP, ""), (line, "")]
        yield from _place(each, column, width)


def _said(placed: Operand, say: Language) -> str:
    device = placed.placement.device if placed.placement is not None else ""
    said = say.text(placed_text(device, placed.owner, placed.followed))
    if placed.qualified_name in (None, placed.name):
        return said
    return say("is {name}, {said}", name=say.text(placed.qualified_name or ""), said=said)


def _place(placed: Operand, column: int, width: int) -> Iterator[Line]:
    """The line that placed it, beside its place if there is room, and the setting that made the owner do so."""
    site, setting = placed.place, f"->  {placed.setting}" if placed.setting else ""
    if site is None:
        if setting:
            yield from _below(setting, width)
        return
    head = "   --> "
    place = str(site)
    source = site.lines.get(site.line, "")
    gap = " " * max(2, column - display_width(head + place))
    beside = f"{source}  {setting}" if source and setting else source or setting
    taken = display_width(head + place + gap)
    if taken + display_width(beside) <= width:
        yield [(head, "frame"), (place, ""), (gap + beside, "")]
    elif taken + display_width(source) <= width:
        yield [(head, "frame"), (place, ""), (gap + source, "")]
        yield from _below(setting, width)
    else:
        yield [(head, "frame"), (place, "")]
        yield from _below(source, width)
        yield from _below(setting, width)


def _below(text: str, width: int) -> Iterator[Line]:
    for number, line in enumerate(wrapped(text, _DEEP + 4, _DEEP, width)):
        yield [(" " * (_DEEP + (4 if number else 0)), ""), (line, "")]


def _headed(word: str, style: str, text: str, width: int) -> Iterator[Line]:
    indent = display_width(word) + 2
    for number, line in enumerate(wrapped(text, indent, width=width)):
        yield [(f"{word}: " if number == 0 else " " * indent, style if number == 0 else ""), (line, "")]


def _candidate_lines(cause: Diagnostic, say: Language, width: int) -> Iterator[Line]:
    """One paragraph a candidate: its name, and what was seen of it."""
    many = len(cause.candidates) > 1
    why = "the evidence fits several causes" if many else "what was seen is not enough to be sure of"
    yield from _headed(say("undecided"), "note", say(why), width)
    for code, name in cause.candidates:
        seen = [_of_candidate(each) for each in cause.evidence if each.startswith(f"{code}: ")][:_TOLD]
        told = f": {say(' ').join(map(say.text, seen))}" if seen else ""
        for number, line in enumerate(wrapped(f"{code} {name}{told}", 6, 2, width)):
            yield [("      " if number else "  ", ""), (line, "")]


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
    fix: Fix, word: str, edits: Sequence[Edit], sites: Sequence[Place], say: Language, width: int
) -> Iterator[Line]:  # fmt: skip
    text = say("{text} ({confidence})", text=say.text(fix.text), confidence=say(fix.confidence))
    yield from _headed(word, "help", text, width)
    lines: dict[tuple[str, int], list[Edit]] = {}
    for edit in edits:
        lines.setdefault((edit.place.file, edit.place.line), []).append(edit)
    for (file, line), together in lines.items():
        if not sites or file != sites[0].file:
            yield [("   --> ", "frame"), (f"{file}:{line}", "")]
        for edit in _of_whole_line(together, sites):
            yield from _diff(edit)


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


def _diff(edit: Edit) -> Iterator[Line]:
    """The lines that change; all of them where their number changes."""
    before, after = edit_lines(edit.before, edit.after)
    same = len(before) == len(after)
    old = [(edit.place.line + at, text) for at, text in enumerate(before) if not same or text != after[at]]
    new = [(edit.place.line + at, text) for at, text in enumerate(after) if not same or text != before[at]]
    width = max(5, max((len(str(number)) for number, _ in old + new), default=0) + 2)
    for sign, style, lines in (("-", "removed", old), ("+", "added", new)):
        for number, text in lines:
            yield [(f"{number:>{width}} ", "frame"), (f"{sign} {text}", style)]
