"""What runs on emulated GPUs now, for a terminal.

    devsan run --gpus 2 -- torchrun --nproc-per-node 2 train.py
    running for 1 min 12 s, 2 a100-80g, 2 ranks, 120 of 1000 steps, 41 per minute,
    21 min 28 s left, 3.1 GiB of this machine's memory

                                used         of  allocated   reserved
    cuda:0  [##==..........]  12 GiB   79.3 GiB    9.1 GiB   11.5 GiB  15%
      rank 0  pid 4242        12 GiB               9.1 GiB   11.5 GiB

A bar has "#" for what is allocated and "=" for the rest of what is used: cached, contexts, other programs.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from devsan.render.amounts import plain_amount, seconds
from devsan.render.language import Language
from devsan.render.terminal.bar import bar
from devsan.render.terminal.text import WIDTH, Line, display_width, wrapped
from devsan.render.terminal.truncate import beginning

if TYPE_CHECKING:
    from devsan.running.rehearsals import Gpu, Process, Rehearsal

_CELLS = 14  # of a bar
_LABEL = 26
_COLUMN = 11
_MOST_LINES = 3  # of a command
_NEARLY_FULL = 0.9


def rehearsal_lines(rehearsals: Sequence[Rehearsal], say: Language, width: int = WIDTH) -> Iterator[Line]:
    """Yields the lines of ``rehearsals``, in ``width`` columns, with an empty line between two; of none, a sentence."""
    if not rehearsals:
        yield [(say("no rehearsal of yours runs on this machine"), "")]
    for number, rehearsal in enumerate(rehearsals):
        if number:
            yield []
        for line in _command_lines(rehearsal.command, width):
            yield [(line, "title")]
        for line in wrapped(say(", ").join(_facts(rehearsal, say)), 0, width=width):
            yield [(line, "")]
        yield []
        yield [(_row("", [say("used"), say("of"), say("allocated"), say("reserved")]), "")]
        nodes = {gpu.node for gpu in rehearsal.gpus}
        for gpu in rehearsal.gpus:
            if len(nodes) > 1 and gpu.index == 0:
                yield [(say("node {node}", node=str(gpu.node)), "")]
            yield from _gpu_lines(gpu, say)


def _facts(rehearsal: Rehearsal, say: Language) -> Iterator[str]:
    yield say("running for {time}", time=seconds(rehearsal.seconds))
    for profile, count in Counter(gpu.profile for gpu in rehearsal.gpus).items():
        yield f"{count} {profile}"
    ranks = len({each.rank for each in rehearsal.processes} - {None})
    if ranks:
        yield say("1 rank") if ranks == 1 else say("{count} ranks", count=str(ranks))
    yield from _steps(rehearsal.processes, say)
    yield say("{size} of this machine's memory", size=plain_amount(rehearsal.resident))


def _steps(processes: Sequence[Process], say: Language) -> Iterator[str]:
    """Of a job those of the rank that is ahead: a rank that lags shows in JSON."""
    first = max(processes, key=lambda each: each.steps or 0)
    if not first.steps:
        yield say("no optimizer step yet")
        return
    if first.last is not None and not first.of_pass:
        yield say("{count} of {last} steps", count=str(first.steps), last=str(first.last))
    else:
        yield say("1 step") if first.steps == 1 else say("{count} steps", count=str(first.steps))
    if first.per_minute is not None:
        rate = first.per_minute
        yield say("{count} per minute", count=f"{rate:.0f}" if rate >= 10 else f"{rate:.2g}")
    if first.seconds_left is not None:
        of_pass, left = first.of_pass, seconds(first.seconds_left)
        yield say("{time} left of this pass through the data", time=left) if of_pass else say("{time} left", time=left)


def _gpu_lines(gpu: Gpu, say: Language) -> Iterator[Line]:
    memory = gpu.memory
    used = memory.used + gpu.busy
    share = used / max(gpu.total, 1)
    label = f"{f'cuda:{gpu.index}':<8}{bar(memory.allocated, used, gpu.total, _CELLS)}"
    sizes = [plain_amount(size) for size in (used, gpu.total, memory.allocated, memory.reserved)]
    yield [(f"{_row(label, sizes)}{share:>5.0%}", "warning" if share >= _NEARLY_FULL else "title")]
    for holder in gpu.holders:
        rank = "" if holder.rank is None else f"{say('rank {rank}', rank=str(holder.rank))}  "
        held = holder.memory
        sizes = [plain_amount(held.used), "", plain_amount(held.allocated), plain_amount(held.reserved)]
        yield [(_row(f"  {rank}pid {holder.pid}", sizes), "")]
    if gpu.busy:
        yield [(_row(f"  {say('other programs')}", [plain_amount(gpu.busy)]), "")]


def _row(label: str, texts: Sequence[str]) -> str:
    line = label + " " * (_LABEL - display_width(label))
    return line + "".join(" " * max(1, _COLUMN - display_width(text)) + text for text in texts)


def _command_lines(words: Sequence[str], width: int) -> Iterator[str]:
    """The command, its beginning where it is long, without what a terminal would obey."""
    text = " ".join(shlex.join(words).split())
    text = "".join(character if character.isprintable() else "?" for character in text)
    lines = wrapped(text, 2, 0, width - len(" ..."))
    for number, line in enumerate(lines[:_MOST_LINES]):
        more = " ..." if number + 1 == _MOST_LINES < len(lines) else ""
        yield beginning(("  " if number else "") + line, width - len(more)) + more
