"""Findings on a terminal.

error[DV413]: train_batch_size is 64, but 4 * 8 * 4 ranks = 128
   --> ds_config.json:2:23
    |
  2 |   "train_batch_size": 64,
    |                       ^^
    = DeepSpeed stops unless ...
help: write 128 (certain)
  or: ...
more: devsan explain DV413
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence

from devsan.doctor.findings import Finding, Place
from devsan.report.language import Language
from devsan.report.text import WIDTH, Line, display_width, wrapped

_LONGEST = 120  # columns of a line that is shown whole


def lines_of(finding: Finding, say: Language, width: int = WIDTH) -> Iterator[Line]:
    """Yields the lines of one finding."""
    yield [(f"{say(finding.severity)}[{finding.code}]", finding.severity), (f": {say.text(finding.title)}", "title")]
    gutter = len(str(finding.place.line)) + 2 if finding.place is not None and finding.place.line else 4
    if finding.place is not None:
        yield from _source(finding.place, gutter)
    elif finding.subject:
        yield [(f"{' ' * (gutter - 1)}--> ", "frame"), (finding.subject, "")]
    for site in finding.sites[:3]:
        yield [(f"{' ' * (gutter - 1)}{say('and')} ", "frame"), (str(site), "")]
    for sentence in finding.evidence:
        for number, line in enumerate(wrapped(say.text(sentence), gutter + 2, width=width)):
            yield [(" " * gutter + ("= " if number == 0 else "  "), "frame"), (line, "")]
    fix = say("{text} ({confidence})", text=say.text(finding.fix), confidence=say(finding.confidence))
    yield from _headed(say("help"), fix, width)
    for other in finding.others[:3]:
        yield from _headed(f"  {say('or')}", say.text(other), width)
    yield from _headed(say("more"), f"devsan explain {finding.code}", width)


def summary(findings: Sequence[Finding], say: Language) -> str:
    """Returns how many there are, in one line."""
    counts = [(sum(finding.severity == severity for finding in findings), severity)
              for severity in ("error", "warning", "note")]  # fmt: skip
    said = [say(f"{{n}} {severity}{'s' if count > 1 else ''}", n=str(count)) for count, severity in counts if count]
    return say(", ").join(said) if said else say("nothing is wrong")


def _source(place: Place, gutter: int) -> Iterator[Line]:
    yield [(f"{' ' * (gutter - 1)}--> ", "frame"), (str(place), "")]
    line = linecache.getline(place.file, place.line).rstrip("\n") if place.line else ""
    if not line or display_width(line) > _LONGEST or "\x1b" in line:
        return
    yield [(" " * gutter + "|", "frame")]
    yield [(f"{place.line:>{gutter - 1}} | ", "frame"), (line, "")]
    if place.column:
        end = place.end_column if place.end_line == place.line and place.end_column > place.column else place.column + 1
        before = "".join(character if character == "\t" else " " for character in line[: place.column - 1])
        wide = display_width(line[: place.column - 1].replace("\t", "")) - len(before.replace("\t", ""))
        marks = "^" * max(1, display_width(line[place.column - 1 : end - 1]))
        yield [(" " * gutter + "| ", "frame"), (before + " " * wide + marks, "offending")]


def _headed(word: str, text: str, width: int) -> Iterator[Line]:
    indent = display_width(word) + 2
    for number, line in enumerate(wrapped(text, indent, width=width)):
        yield [(f"{word}: " if number == 0 else " " * indent, "help" if number == 0 else ""), (line, "")]
