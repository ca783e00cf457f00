"""What a plan came to, for a terminal: the model, whether it fits, the planned map, and the levers.

LlamaForCausalLM: 36 blocks, 12.6 GiB
gradients 12.6 GiB, optimizer state 25.1 GiB, activations 11.7 GiB

as it is     does not fit: cuda:0 is out of memory
planned map  fits: cuda:0 21.3 GiB, cuda:1 20.7 GiB; 380 MiB between GPUs; rehearsed in 4.39 s

cuda:0   21.3 GiB / 23.7 GiB    model.embed_tokens, model.layers.0-9, lm_head
cuda:1   20.7 GiB / 23.7 GiB    model.layers.10-20
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from devsan.blocks.measured import Measured
from devsan.blocks.runs import runs_of
from devsan.diagnostics.messages import plural
from devsan.render.amounts import amount, seconds
from devsan.render.language import Language, language_for
from devsan.render.terminal.printer import write_lines
from devsan.render.terminal.shortage_lines import items, levers_text, section, shortage_texts
from devsan.render.terminal.stream import columns_of
from devsan.render.terminal.text import Line, display_width, wrapped

if TYPE_CHECKING:
    from devsan.plan.map_check import MapCheck
    from devsan.plan.result import PlanResult, Tried

_PROBLEMS = 12


def write(result: PlanResult, stream: TextIO, language: str = "") -> None:
    """Writes ``result`` to ``stream``.

    Args:
        result: a plan.
        stream: where to write.
        language: "en" or "zh"; by default the chosen one.
    """
    say = language_for(stream, language)
    write_lines(list(plan_lines(result, say, columns_of(stream)[0])), stream)


def write_check(check: MapCheck, stream: TextIO, language: str = "") -> None:
    """Writes ``check``, of a map, to ``stream``, as ``write`` does."""
    say = language_for(stream, language)
    write_lines(list(check_lines(check, say, columns_of(stream)[0])), stream)


def plan_lines(result: PlanResult, say: Language, width: int) -> Iterator[Line]:
    """Yields the lines of ``result``, in ``width`` columns."""
    if result.measured is not None:
        yield from _model(result.measured, say)
        yield []
    rows = [(_name(tried, say), tried) for tried in (result.as_it_is, result.planned, *result.levers)]
    column = max(display_width(name) for name, _ in rows) + 2
    for name, tried in rows:
        yield from _row(name + " " * (column - display_width(name)), tried, say, width)
    if result.smallest:
        size = amount(result.smallest)
        if len(result.gpus) == 1:
            text = say("the model fits a GPU of {size}", size=size)
        else:
            text = say("a map fits {count} GPUs of {size} each", count=str(len(result.gpus)), size=size)
        yield []
        yield [(text, "")]
    if not (result.fits or result.planned.fails or result.is_partial):
        yield from section(say("why nothing fits without a lever"), _why(result, say), width)
    if result.planned.fits:
        yield []
        yield from _map(result, width)
    if result.is_partial:
        yield []
        yield [(say("interrupted: this is a part of the plan, and more may fit"), "title")]


def row_text(row: Tried | Measured, say: Language) -> str:
    """Returns what a rehearsal came to, in one line."""
    if isinstance(row, Measured):
        count = str(len(row.blocks))
        return say("{model} is measured: {count} blocks, {size}", model=row.model, count=count, size=amount(row.size))
    return say("{name}: {verdict}", name=_name(row, say), verdict=_verdict(row, say))


def check_lines(check: MapCheck, say: Language, width: int) -> Iterator[Line]:
    """Yields the lines of ``check``, in ``width`` columns."""
    count = plural("{n} problem of the map", "{n} problems of the map", len(check.problems))
    yield [(f"{check.model}: ", "title"), (say.text(count), "")]
    yield from items((say.text(problem.text) for problem in check.problems[:_PROBLEMS]), width)
    if len(check.problems) > _PROBLEMS:
        yield [("  - ", ""), (say("and {count} more", count=str(len(check.problems) - _PROBLEMS)), "")]
    if check.rehearsed.is_tried:
        yield from _row(say("rehearsed") + "  ", check.rehearsed, say, width)
    else:
        yield [(say("not rehearsed: {reason}", reason=say.text(check.rehearsed.reason)), "")]


def _name(tried: Tried, say: Language) -> str:
    own = {"as it is": say("as it is"), "map": say("planned map")}
    return own.get(tried.what) or say.text(tried.lever)


def _row(head: str, tried: Tried, say: Language, width: int) -> Iterator[Line]:
    lines = wrapped(_verdict(tried, say), display_width(head), width=width)
    yield [(head, ""), (lines[0], "good" if tried.fits else "error" if tried.is_tried else "")]
    for line in lines[1:]:
        yield [(" " * display_width(head) + line, "")]


def _model(measured: Measured, say: Language) -> Iterator[Line]:
    text = say("{count} blocks, {size}", count=str(len(measured.blocks)), size=amount(measured.size))
    yield [(f"{measured.model}: ", "title"), (text, "")]
    held = [
        (say("gradients"), sum(block.gradients for block in measured.blocks)),
        (say("optimizer state"), sum(block.optimizer_state for block in measured.blocks)),
        (say("activations"), sum(block.activations for block in measured.blocks)),
    ]
    yield [(", ".join(f"{name} {amount(size)}" for name, size in held if size > 0), "")]


def _verdict(tried: Tried, say: Language) -> str:
    peaks = ", ".join(f"{device}\N{NO-BREAK SPACE}{amount(size)}" for device, size in tried.peaks.items() if size)
    if not tried.is_tried:
        return say("not tried: {reason}", reason=say.text(tried.reason))
    if tried.fails:
        return say("fails: {reason}", reason=say.text(tried.reason))
    if not tried.fits:
        return say("does not fit: {reason}", reason=say.text(tried.reason))
    template = "fits: {peaks}; {moved} between GPUs; rehearsed in {time}"
    return say(template, peaks=peaks, moved=amount(tried.transferred), time=seconds(tried.seconds))


def _map(result: PlanResult, width: int) -> Iterator[Line]:
    placement = result.planned.placement
    assert placement is not None
    for ordinal, size in enumerate(result.gpus):
        keys = [key for key, gpu in placement.device_map.items() if gpu == ordinal]
        peak = result.planned.peaks.get(f"cuda:{ordinal}", 0)
        head = f"cuda:{ordinal:<3} {f'{amount(peak)} / {amount(size)}':<22} "
        lines = wrapped(", ".join(runs_of(keys)) or "-", len(head), width=width)
        yield [(head, ""), (lines[0], "")]
        for line in lines[1:]:
            yield [(" " * len(head) + line, "")]


def _why(result: PlanResult, say: Language) -> Iterator[str]:
    """The planned map where it was rehearsed, else the program's own; what all of it takes; and the levers."""
    shortage = result.planned.shortage or result.as_it_is.shortage
    if shortage is not None:
        name = _name(result.planned if result.planned.shortage else result.as_it_is, say)
        first, *rest = shortage_texts(shortage, say)
        yield say("{name}: {verdict}", name=name, verdict=first)
        yield from rest
    sizes = {"whole": amount(result.whole), "room": amount(sum(result.rooms))}
    if result.whole > sum(result.rooms):
        sizes["missing"] = amount(result.whole - sum(result.rooms))
        if len(result.rooms) == 1:
            text = "all of it has a peak of {whole}, and the GPU has {room} for it: {missing} are missing"
        else:
            text = "all of it has a peak of {whole}, and the GPUs together have {room} for it: {missing} are missing"
        yield say(text, **sizes)
    elif result.whole and len(result.rooms) > 1:
        text = "all of it has a peak of {whole}, and the GPUs together have {room} for it, but in no parts that fit"
        yield say(text, **sizes)
    yield levers_text([_name(tried, say) for tried in result.levers if tried.fits], say)
