"""A change as it is shown, row by row: what goes and what comes, with what differs marked, and where new lines are put.

 6 - target = torch.zeros(4, 2)
 6 + target = torch.zeros(4, 2, device="cuda:1")
12   optimizer.step()
13 + scheduler.step()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from devsan.render.unified_diff import Replaced, changed_part


@dataclass(frozen=True)
class ChangedRow:
    """A line of a change.

    Attributes:
        sign: "-" of a line that goes, "+" of one that comes, " " of one that stays beside lines that come or go.
        line: its number in the file, before the change if it goes and after it if it comes.
        head: its text in front of what differs, or all of it.
        changed: what differs from the line in whose place it comes.
        tail: the text behind that.
        instead: what that line has there.
    """

    sign: str
    line: int
    head: str
    changed: str = ""
    tail: str = ""
    instead: str = ""


def rows_of_edit(before: str, after: str, line: int, column: int = 0) -> list[ChangedRow]:
    """Returns the rows of an edit whose text begins at ``line`` and ``column``, which is 0 where it is not known.

    Where an edit begins with a statement, its first line has no indentation and the others have that of the file. Where
    lines are added or taken away, all lose what they are all indented by, so that they can be typed in as they stand.
    """
    old, new = before.splitlines(), after.splitlines()
    if before[:1].isspace() and after[:1].isspace():
        old, new = _dedented(old, new)
    elif len(old) != len(new):
        further = [len(each) - len(each.lstrip()) for each in (*old[1:], *new[1:]) if each.strip()]
        margin = min(further, default=0) if column < 1 else min([column - 1, *further])
        old, new = ([*side[:1], *(each[margin:] for each in side[1:])] for side in (old, new))
    return list(_rows(old, new, line, line))


def rows_of_replaced(found: Replaced) -> list[ChangedRow]:
    """Returns the rows of what a unified diff replaces, without the indentation that all of them have."""
    before, after, above = found.before, found.after, 0
    if found.anchor and found.anchor.strip() and not (before and after):
        before, after, above = (found.anchor, *before), (found.anchor, *after), 1
    return list(_rows(*_dedented(before, after), found.line - above, found.new_line - above))


def _dedented(before: Sequence[str], after: Sequence[str]) -> tuple[list[str], list[str]]:
    margin = min((len(each) - len(each.lstrip()) for each in (*before, *after) if each.strip()), default=0)
    return [each[margin:] for each in before], [each[margin:] for each in after]


def _rows(before: Sequence[str], after: Sequence[str], line: int, new_line: int) -> Iterator[ChangedRow]:
    steps = _steps(before, after)
    for at, (kind, start, end, first, last) in enumerate(steps):
        if kind == "equal":
            if at + 1 < len(steps) and steps[at + 1][0] in ("insert", "delete") and after[last - 1].strip():
                yield ChangedRow(" ", new_line + last - 1, after[last - 1])
            elif at == 1 and steps[0][0] in ("insert", "delete") and after[first].strip():
                yield ChangedRow(" ", new_line + first, after[first])
        elif end - start == last - first:
            pairs = list(zip(before[start:end], after[first:last], strict=True))
            yield from (_row("-", line + start + number, old, new) for number, (old, new) in enumerate(pairs))
            yield from (_row("+", new_line + first + number, new, old) for number, (old, new) in enumerate(pairs))
        else:
            yield from (ChangedRow("-", line + number, before[number]) for number in range(start, end))
            yield from (ChangedRow("+", new_line + number, after[number]) for number in range(first, last))


def _steps(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """What becomes of stretches of ``before``, as `difflib` says it; lines that are as many change one by one."""
    if len(before) != len(after):
        return list(SequenceMatcher(None, before, after, autojunk=False).get_opcodes())
    steps: list[tuple[str, int, int, int, int]] = []
    for at, (old, new) in enumerate(zip(before, after, strict=True)):
        kind = "equal" if old == new else "replace"
        start = steps.pop()[1] if steps and steps[-1][0] == kind else at
        steps.append((kind, start, at + 1, start, at + 1))
    return steps


def _row(sign: str, line: int, text: str, other: str) -> ChangedRow:
    part, its = changed_part(text, other)
    return ChangedRow(sign, line, text[: part.start], text[part], text[part.stop :], other[its])
