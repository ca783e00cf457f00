"""Who placed the operands, in the report on a terminal.

labels  int64[6]      placed on cuda:1 by this program
 --> library.py:4:20  batch = {"labels": torch.zeros(6, device="cuda:1")}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from devsan.diagnostics.diagnostic import Operand, Place
from devsan.diagnostics.placement import placed_text
from devsan.render.language import Language
from devsan.render.terminal.colors import style_of_device
from devsan.render.terminal.paths import Paths
from devsan.render.terminal.text import DEEP, Line, display_width, padded, paragraph, wrapped
from devsan.render.terminal.truncate import shortened

_LONGEST = 28  # columns of a name that the table makes room for


def placed_lines(
    placed: Sequence[Operand], sites: Sequence[Place], say: Language, paths: Paths, width: int
) -> Iterator[Line]:
    """Yields the lines of a table: each operand and who placed it, and beneath it the line that did.

    Args:
        placed: the operands.
        sites: the places whose source stands above; it is not repeated.
        say: the language.
        paths: the files of the report.
        width: columns.
    """
    names = [each.name or "" for each in placed if display_width(each.name or "") <= _LONGEST] or [""]
    kinds = [each.placement.kind if each.placement is not None else "" for each in placed]
    gap = "  " if any(kinds) else ""
    column = display_width(f"  {padded('', names)}{gap}{padded('', kinds)}  ")
    shown = {(site.file, number) for site in sites for number in site.lines}
    for each, kind in zip(placed, kinds, strict=True):
        name = each.name or ""
        is_long = display_width(name) > _LONGEST
        name = shortened(name, width - display_width(f"  {gap}{kind}")) if is_long else padded(name, names)
        head = f"  {name}{gap}{padded(kind, kinds)}"
        style = style_of_device(each.placement.device if each.placement is not None else "", each.offending)
        said = paths.text(_said(each, say))
        if display_width(f"{head}  {said}") <= width:
            yield [(f"{head}  ", style), (said, "")]
        else:
            yield [(head.rstrip(), style)]
            for line in wrapped(said, DEEP, width=width):
                yield [(" " * DEEP, ""), (line, "")]
        yield from _place(each, column, paths, width, shown)


def _said(placed: Operand, say: Language) -> str:
    device = placed.placement.device if placed.placement is not None else ""
    said = say.text(placed_text(device, placed.owner, placed.followed))
    if placed.qualified_name in (None, placed.name):
        return said
    return say("is {name}, {said}", name=say.text(placed.qualified_name or ""), said=said)


def _place(
    placed: Operand, column: int, paths: Paths, width: int, shown: set[tuple[str, int]]
) -> Iterator[Line]:  # fmt: skip
    """The line that placed it, beside its place if there is room, and the setting that made the owner do so."""
    site, setting = placed.place, f"->  {placed.setting}" if placed.setting else ""
    if site is None:
        if setting:
            yield from _below(setting, width)
        return
    head = "   --> "
    place = paths.place(site)
    source = site.lines.get(site.line, "") if (site.file, site.line) not in shown else ""
    shown.add((site.file, site.line))
    gap = " " * max(2, column - display_width(head + place))
    beside = f"{source}  {setting}" if source and setting else source or setting
    taken = display_width(head + place + gap)
    if taken + display_width(beside) <= width:
        yield [(head, "frame"), (place, ""), (gap + beside if beside else "", "")]
    elif taken + display_width(source) <= width:
        yield [(head, "frame"), (place, ""), (gap + source, "")]
        yield from _below(setting, width)
    else:
        yield from paragraph(head, "frame", place, width, DEEP)
        yield from _below(source, width)
        yield from _below(setting, width)


def _below(text: str, width: int) -> Iterator[Line]:
    for number, line in enumerate(wrapped(text, DEEP + 4, DEEP, width)):
        yield [(" " * (DEEP + (4 if number else 0)), ""), (line, "")]
