"""What a diagnosis adds to the plain report, below torch's sentence.

  labels  int64[6]      placed on cuda:1 by this program
   --> library.py:4:20  batch = {"labels": torch.zeros(6, device="cuda:1")}

help: move `labels` to the device of `logits` where they meet (likely)
  18 - return F.cross_entropy(logits, labels)
  18 + return F.cross_entropy(logits, labels.to(logits.device))
more: devsan explain DV104
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devsan.report.facts import Cause, Edit, Placed, Repair, Site
from devsan.report.text import WIDTH, Line, display_width, padded, wrapped

_WIDEST = 28  # columns of a name that the table makes room for
_DEEP = 7  # columns in front of what stands below a place


def cause_lines(cause: Cause, sites: Sequence[Site]) -> Iterator[Line]:
    """Yields the lines about ``cause``. ``sites`` are those that the report has shown already."""
    if cause.placed:
        yield []
        yield from _table(cause.placed)
    yield []
    if cause.repair is not None:
        yield from _repair_lines(cause.repair, sites)
    if cause.candidates:
        many = "candidates" if len(cause.candidates) > 1 else "candidate"
        yield from _headed("undecided", f"{many} {', '.join(f'{code} ({name})' for code, name in cause.candidates)}")
    codes = [code for code, _ in cause.candidates] or [cause.code]
    yield from _headed("more", ", ".join(f"devsan explain {code}" for code in codes))


def _table(placed: Sequence[Placed]) -> Iterator[Line]:
    names = [each.name for each in placed if display_width(each.name) <= _WIDEST] or [""]
    kinds = [each.placement.kind for each in placed]
    gap = "  " if any(kinds) else ""
    column = display_width(f"  {padded('', names)}{gap}{padded('', kinds)}  ")
    for each in placed:
        name = padded(each.name, names) if display_width(each.name) <= _WIDEST else each.name
        head = f"  {name}{gap}{padded(each.placement.kind, kinds)}"
        style = "odd" if each.odd else "other"
        said = _said(each)
        if display_width(f"{head}  {said}") <= WIDTH:
            yield [(f"{head}  ", style), (said, "")]
        else:
            yield [(head, style)]
            for line in wrapped(said, _DEEP):
                yield [(" " * _DEEP, ""), (line, "")]
        yield from _place(each, column)


def _said(placed: Placed) -> str:
    known = f"is {placed.known_as}, " if placed.known_as not in (None, placed.name) else ""
    beside = f" with {placed.followed}" if placed.followed else ""
    owner = f" by {placed.owner}" if placed.owner else ""
    return f"{known}placed on {placed.placement.device}{beside}{owner}"


def _place(placed: Placed, column: int) -> Iterator[Line]:
    """The line that placed it, beside its place if there is room, and the setting that made the owner do so."""
    site, setting = placed.site, f"->  {placed.setting}" if placed.setting else ""
    if site is None:
        if setting:
            yield from _below(setting)
        return
    head = "   --> "
    place = f"{site.file}:{site.line}" + (f":{site.column}" if site.column is not None else "")
    source = site.lines.get(site.line, "")
    gap = " " * max(2, column - display_width(head + place))
    beside = f"{source}  {setting}" if source and setting else source or setting
    width = display_width(head + place + gap)
    if width + display_width(beside) <= WIDTH:
        yield [(head, "frame"), (place, ""), (gap + beside, "")]
    elif width + display_width(source) <= WIDTH:
        yield [(head, "frame"), (place, ""), (gap + source, "")]
        yield from _below(setting)
    else:
        yield [(head, "frame"), (place, "")]
        yield from _below(source)
        yield from _below(setting)


def _below(text: str) -> Iterator[Line]:
    for number, line in enumerate(wrapped(text, _DEEP + 4, _DEEP)):
        yield [(" " * (_DEEP + (4 if number else 0)), ""), (line, "")]


def _headed(word: str, text: str) -> Iterator[Line]:
    indent = len(word) + 2
    for number, line in enumerate(wrapped(text, indent)):
        yield [(f"{word}: " if number == 0 else " " * indent, "help" if number == 0 else ""), (line, "")]


def _repair_lines(repair: Repair, sites: Sequence[Site]) -> Iterator[Line]:
    yield from _headed("help", f"{repair.text} ({repair.confidence})")
    edit = repair.edit
    if edit is None:
        return
    if not sites or edit.file != sites[0].file:
        yield [("   --> ", "frame"), (f"{edit.file}:{edit.line}", "")]
    yield from _diff(edit)


def _diff(edit: Edit) -> Iterator[Line]:
    """The lines that change; all of them where their number changes."""
    before, after = edit.before.splitlines(), edit.after.splitlines()
    same = len(before) == len(after)
    old = [(edit.line + at, text) for at, text in enumerate(before) if not same or text != after[at]]
    new = [(edit.line + at, text) for at, text in enumerate(after) if not same or text != before[at]]
    width = max(5, max((len(str(number)) for number, _ in old + new), default=0) + 2)
    for sign, style, lines in (("-", "removed", old), ("+", "added", new)):
        for number, text in lines:
            yield [(f"{number:>{width}} ", "frame"), (f"{sign} {text}", style)]
