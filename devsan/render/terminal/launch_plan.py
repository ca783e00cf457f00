"""What the plan of a launched job came to, for a terminal: a row for each strategy, and the command for the best.

train.py on 4 GPUs of 23.7 GiB

                               peak per GPU   host      sent per GPU
DDP                            -            -         -           cuda:0 is out of memory
ZeRO-3, optimizer on the host  18.2 GiB     75.3 GiB  56.1 GiB    fits
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from devsan.render.amounts import amount
from devsan.render.language import Language, language_for
from devsan.render.terminal.printer import write_lines
from devsan.render.terminal.shortage_lines import held_text, levers_text, section, shortage_texts
from devsan.render.terminal.stream import columns_of
from devsan.render.terminal.text import Line, display_width, wrapped

if TYPE_CHECKING:
    from devsan.plan.launched.need import Need
    from devsan.plan.launched.result import LaunchPlan, Tried

_COLUMN = 12
_LEAST = 30
"""Columns of a reason, at least."""


def write(plan: LaunchPlan, stream: TextIO, language: str = "", folder: str = "FOLDER") -> None:
    """Writes ``plan`` to ``stream``.

    Args:
        plan: of a launched job.
        stream: where to write.
        language: "en" or "zh"; by default the chosen one.
        folder: where the configuration is.
    """
    say = language_for(stream, language)
    write_lines(list(plan_lines(plan, say, columns_of(stream)[0], folder)), stream)


def plan_lines(plan: LaunchPlan, say: Language, width: int, folder: str = "FOLDER") -> Iterator[Line]:
    """Yields the lines of ``plan``, in ``width`` columns; ``folder`` is where its configuration is."""
    size = amount(max(plan.gpus))
    yield [(f"{plan.script} ", "title"), (say("on {count} GPUs of {size}", count=str(len(plan.gpus)), size=size), "")]
    yield []
    rows = [(_name(tried, say), tried) for tried in (*plan.tried, *plan.levers)]
    column = max(display_width(name) for name, _ in rows) + 2
    head = "".join(_padded(say(text), _COLUMN) for text in ("peak per GPU", "host", "sent per GPU"))
    yield [(" " * column + head.rstrip(), "")]
    for name, tried in rows:
        yield from _row(_padded(name, column), tried, say, width)
    if not (plan.fits or plan.is_partial):
        yield from section(say("why nothing fits without a lever"), _why(plan, say), width)
    if plan.best is not None:
        yield []
        yield [(say("cheapest that fits: {name}", name=_name(plan.best, say)), "title")]
        yield [("  " + shlex.join(plan.best.configuration.command_in(folder)), "")]
    if plan.is_partial:
        yield []
        text = "interrupted: this is a part of the plan, {done} of {count} ways to share; more may fit, or be cheaper"
        for line in wrapped(say(text, done=str(len(plan.tried)), count=str(plan.count)), 0, width=width):
            yield [(line, "title")]


def _why(plan: LaunchPlan, say: Language) -> Iterator[str]:
    """What the leanest needs, where it ran out of memory, and which levers make anything fit."""
    if plan.needs:
        need = min(plan.needs, key=lambda each: each.held.allocated - each.room)
        yield need_text(need, say)
        yield held_text(need.held.allocated, need.held.parts, say)
        same = (each for each in plan.tried if each.configuration == need.configuration)
        shortage = next((each.shortage for each in same), None)
        if shortage is not None:
            yield from list(shortage_texts(shortage, say))[:1]
    if plan.levers:
        yield levers_text([_name(tried, say) for tried in plan.levers if tried.fits], say)


def need_text(need: Need, say: Language) -> str:
    """Returns what a configuration needs of its fullest GPU, and what that has."""
    name, device = _name(need, say), need.held.device
    if need.held.allocated <= need.room:
        text = "{name} needs {size} of {device}, which has {room} for tensors, but not in pieces that are large enough"
        return say(text, name=name, device=device, size=amount(need.held.allocated), room=amount(need.room))
    text = "{name} needs {size} of {device}, which has {room} for tensors: at least {missing} are missing"
    return say(text, name=name, device=device, size=amount(need.held.allocated), room=amount(need.room),
               missing=amount(need.held.allocated - need.room))  # fmt: skip


def row_text(tried: Tried, say: Language) -> str:
    """Returns what a rehearsal came to, in one line."""
    if tried.fits:
        return say("{name}: {verdict}", name=_name(tried, say), verdict=say("fits, with a peak of {size} per GPU",
                                                                          size=amount(tried.peak)))  # fmt: skip
    return say("{name}: {verdict}", name=_name(tried, say), verdict=_why_not(tried, say))


def _why_not(tried: Tried, say: Language) -> str:
    reason = say.text(tried.reason)
    return say("fails: {reason}", reason=reason) if tried.fails else reason


def _row(head: str, tried: Tried, say: Language, width: int) -> Iterator[Line]:
    sizes = (tried.peak, tried.host, tried.sent) if tried.fits else (0, 0, 0)
    figures = "".join(_padded(amount(size) if size else "-", _COLUMN) for size in sizes)
    if tried.fits or display_width(head + figures) + _LEAST <= width:  # there is room for the reason beside them
        head += figures
    if tried.fits:
        yield [(head, ""), (say("fits"), "good")]
        return
    lines = wrapped(_why_not(tried, say), display_width(head), width=max(width, display_width(head) + _LEAST))
    yield [(head, ""), (lines[0], "error")]
    for line in lines[1:]:
        yield [(" " * display_width(head) + line, "")]


def _name(tried: Tried | Need, say: Language) -> str:
    lever = tried.configuration.lever
    name = say(tried.configuration.strategy.name)
    if lever.gpus:
        return say("{name}, {count} GPUs", name=name, count=str(lever.gpus))
    if lever.batch:
        return say("{name}, batch of {count}", name=name, count=str(lever.batch))
    return say("{name}, checkpointing", name=name) if lever.checkpointing else name


def _padded(text: str, column: int) -> str:
    return text + " " * max(column - display_width(text), 1)
