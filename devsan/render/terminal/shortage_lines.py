"""Why nothing fits, beneath the rows of a plan: which GPU is short by how much, when, and who holds its memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from devsan.render.amounts import amount
from devsan.render.language import Language
from devsan.render.peaks import kind_named
from devsan.render.terminal.text import Line, paragraph

if TYPE_CHECKING:
    from devsan.plan.shortage import Shortage

_SHOWN = 4
"""Kinds of memory that are named: the largest."""

_PHASES = {
    "load": "{device} runs out of memory while the model is loaded: {missing} more would be needed for that request",
    "data": "{device} runs out of memory where a batch is loaded: {missing} more would be needed for that request",
    "forward": "{device} runs out of memory in the forward pass: {missing} more would be needed for that request",
    "loss": "{device} runs out of memory where the loss is computed: {missing} more would be needed for that request",
    "backward": "{device} runs out of memory in the backward pass: {missing} more would be needed for that request",
    "optimizer": "{device} runs out of memory in the optimizer's step: {missing} more would be needed for that request",
    "generate": "{device} runs out of memory in generate: {missing} more would be needed for that request",
    "none": "{device} runs out of memory: {missing} more would be needed for that request",
}


def shortage_texts(shortage: Shortage, say: Language) -> Iterator[str]:
    """Yields when the GPU ran out of memory, and what held it then."""
    template = _PHASES.get(shortage.phase, _PHASES["none"])
    yield say(template, device=shortage.device, missing=amount(shortage.missing))
    if shortage.parts:
        yield held_text(shortage.allocated, shortage.parts, say)


def held_text(allocated: int, parts: Mapping[str, int], say: Language) -> str:
    """Returns what a GPU holds, in bytes, with the largest of ``parts``, bytes by kind."""
    largest = sorted(parts.items(), key=lambda part: -part[1])[:_SHOWN]
    told = say(", ").join(f"{say.text(kind_named(kind))} {amount(size)}" for kind, size in largest if size)
    return say("it holds {size} then: {parts}", size=amount(allocated), parts=told)


def levers_text(fitting: Sequence[str], say: Language) -> str:
    """Returns which of the levers that were tried make it fit."""
    if not fitting:
        return say("no lever that was tried makes it fit")
    return say("it fits with: {levers}", levers=say(", ").join(fitting))


def section(title: str, texts: Iterator[str], width: int) -> Iterator[Line]:
    """Yields the lines of a section of texts, in ``width`` columns."""
    yield []
    yield [(title, "title")]
    yield from items(texts, width)


def items(texts: Iterable[str], width: int) -> Iterator[Line]:
    """Yields the lines of a list of texts, in ``width`` columns."""
    for text in texts:
        yield from paragraph("  - ", "", text, width)
