"""What ``devsan fix`` found, for a terminal: the failure as ``devsan run`` reports it, the fix, the evidence.

fixed: put `target` on cuda:1 where it is made
   --> train.py:6
    6 - target = torch.zeros(4, 2, device=config["device"])
    6 + target = torch.zeros(4, 2, device="cuda:1")
  the program runs to its end
  equal to one device: losses, gradients and weights of 3 steps
  2 transfers of 176 B a step; peak cuda:0 1 KiB, cuda:1 1 KiB

also tried:
  rejected  move `loss` ... (train.py:10): it computes something else: loss 2: expected 0.5, got 0.25
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from devsan.diagnostics.codec import diagnostic_of
from devsan.diagnostics.codes import OUT_OF_MEMORY
from devsan.render.fixes import said_of_tried
from devsan.render.language import Language, language_for
from devsan.render.terminal.diff_lines import diff_lines
from devsan.render.terminal.printer import lines_of, write_lines
from devsan.render.terminal.stream import columns_of
from devsan.render.terminal.text import Line, display_width, padded, paragraph

if TYPE_CHECKING:
    from devsan.fix.result import FixResult, TriedFix

_SHOWN = 5
_FURTHER = 3
_STYLES = {"verified": "good", "unverified": "warning", "rejected": "error"}
_WORDS = {"verified": "verified", "unverified": "not comparable", "other": "another failure", "rejected": "rejected",
          "failed": "breaks", "same": "same failure", "offered": "not tried"}  # fmt: skip


def write(result: FixResult, stream: TextIO, language: str = "", is_applied: bool = False) -> None:
    """Writes ``result`` to ``stream``.

    Args:
        result: what came of looking for a fix.
        stream: where to write.
        language: "en" or "zh"; by default the chosen one.
        is_applied: whether the best fix is written next.
    """
    say = language_for(stream, language)
    write_lines(list(fix_lines(result, say, *columns_of(stream), is_applied)), stream)


def fix_lines(result: FixResult, say: Language, width: int, room: int, is_applied: bool = False) -> Iterator[Line]:
    """Yields the lines of ``result``. ``width`` is that of prose, ``room`` that of source."""
    if result.finding is not None:
        yield from lines_of(diagnostic_of(result.finding), say, width, room)
        for place, headline in result.further[:_FURTHER]:
            yield from paragraph(say("also: "), "help", f"{place}  {say.text(headline)}", width)
        yield []
    if result.status == "nothing to fix":
        told = say("the program runs to its end on these GPUs; devsan run also reports what raises no error")
        yield from paragraph(f"{say('nothing to fix')}: ", "help", told, width)
        if result.difference:
            told = say("on one GPU, where no tensor moves, it computes something else: {difference}",
                       difference=say.text(result.difference))  # fmt: skip
            yield from paragraph(f"{say('note')}: ", "note", told, width)
        return
    best = result.best
    yield from _not_fixed(result, say, width) if best is None else _fixed(best, say, width, room)
    others = [fix for fix in result.fixes if fix is not best]
    naive = next((fix for fix in others if fix.is_naive and fix.status != "offered"), None)
    yield from _others([fix for fix in others if fix is not naive and fix.status != "offered"], say, width,
                       _SHOWN if best is not None else 2 * _SHOWN)  # fmt: skip
    if naive is not None and best is not None:
        told = say("a naive `.to(device)`, {status}: {text}", status=say(_WORDS[naive.status]), text=_of(naive, say))
        yield from paragraph(f"{say('note')}: ", "note", told, width)
    if result.patch is not None:
        yield from _patch(result, say, width, room)
    yield []
    if not (is_applied and best is not None and best.is_own):
        yield from _next(result, say, width)


def _fixed(best: TriedFix, say: Language, width: int, room: int) -> Iterator[Line]:
    for number, text in enumerate(best.texts):
        head = f"{say('fixed')}: " if number == 0 else f"  {say('and')}: "
        yield from paragraph(head, "help", say.text(text), width)
    yield from diff_lines(best.diff, room)
    for sentence in best.evidence:
        yield from paragraph("  = ", "frame", say.text(sentence), width)


def _not_fixed(result: FixResult, say: Language, width: int) -> Iterator[Line]:
    tried = [fix for fix in result.fixes if fix.status != "offered"]
    if result.stopped:
        told = say(
            "the program was {error}, before a device failure; --timeout allows more", error=say.text(result.error)
        )
    elif result.finding is None:
        told = say("the program fails for a reason other than its devices: {error}", error=result.error)
    elif not tried:
        told = say("no change is known that could be tried")
    elif tried[0].status == "unverified":
        told = say("a change lets the program run to its end, and what it computes cannot be compared")
    else:
        told = said_of_tried(len(tried), say)
    yield from paragraph(f"{say('not fixed')}: ", "error", told, width)


def _others(fixes: Sequence[TriedFix], say: Language, width: int, most: int) -> Iterator[Line]:
    if not fixes:
        return
    yield []
    yield [(f"{say('tried')}:", "title")]
    words = [say(_WORDS[fix.status]) for fix in fixes[:most]]
    indent = max(map(display_width, words)) + 4
    for fix, word in zip(fixes, words, strict=False):
        head = f"  {padded(word, words)}  "
        yield from paragraph(head, _STYLES.get(fix.status, "frame"), _of(fix, say), width, indent)
    if len(fixes) > most:
        yield [(" " * 2, ""), (say("and {count} more: --format json shows them", count=str(len(fixes) - most)), "")]


def _of(fix: TriedFix, say: Language) -> str:
    """A fix in one sentence: what, where, and what came of it."""
    text = say("; ").join(map(say.text, fix.texts))
    place = fix.edits[-1].place if fix.edits else None
    code = f"{fix.codes[0]} " if len(fix.codes) == 1 else ""
    where = say(" ({place})", place=f"{place.file.rsplit('/', 1)[-1]}:{place.line}") if place is not None else ""
    reason = say.text(fix.reason or next(iter(fix.evidence[::-1]), "")) if fix.status != "same" else ""
    return f"{code}{text}{where}" + (say(": {text}", text=reason) if reason else "")


def _patch(result: FixResult, say: Language, width: int, room: int) -> Iterator[Line]:
    patch = result.patch
    assert patch is not None
    yield []
    subject = patch.message.partition("\n")[0]
    told = say("for the maintainers of the library, verified likewise: {subject}", subject=subject)
    yield from paragraph(f"{say('patch')}: ", "help", told, width)
    if result.best is None or result.best.diff != patch.diff:
        yield from diff_lines(patch.diff, room)


def _next(result: FixResult, say: Language, width: int) -> Iterator[Line]:
    """How to take it, or what to do where there is nothing to take."""
    best = result.best
    words = list(result.command)
    if best is not None and best.is_own:
        yield from paragraph(f"{say('to apply')}: ", "help", shlex.join(["devsan", "fix", "--apply", *words]), width)
        piped = f"{shlex.join(['devsan', 'fix', '--diff', *words])} | git apply"
        yield from paragraph(f"{say('or')}: ", "help", piped, width)
    elif best is not None:
        told = say("the fix is in a library, where --apply does not write: --diff prints it")
        yield from paragraph(f"{say('next')}: ", "help", told, width)
    elif result.finding is not None:
        for fix in result.finding["fixes"][:2]:
            yield from paragraph(f"{say('next')}: ", "help", say.text(fix["text"]), width)
        if result.finding["code"] == OUT_OF_MEMORY:
            plan = shlex.join(["devsan", "plan", *words])
            told = say("{command} looks for a placement, a batch or more GPUs with which it fits", command=plan)
        else:
            told = say("{command} shows who placed each tensor", command="devsan run -o run.dvs, devsan report run.dvs")
        yield from paragraph(f"{say('next')}: ", "help", told, width)
