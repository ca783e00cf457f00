"""Levers: what else could be changed so that a program fits, each tried by measuring and rehearsing again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from devsan.blocks.measured import Measured
from devsan.blocks.request import Answer, Request
from devsan.diagnostics.messages import message
from devsan.errors import DevsanError
from devsan.gpu_list import MAX_GPUS
from devsan.options import Options
from devsan.plan import wording
from devsan.plan.gpus import with_gpus
from devsan.plan.rehearsal import ProgramFails
from devsan.plan.result import Tried

_BITS = (8, 4)
"""Of a quantized weight; fewer are tried where more do not fit."""

Measure = Callable[[Request], tuple[Answer, Measured, int]]
Solve = Callable[[str, int, Measured, Options, Request], Tried]


class Levers:
    """Tries levers of one program.

    Args:
        options: of the job.
        measure: measures the program's blocks under a request.
        solve: solves for a map, and rehearses it.
    """

    def __init__(self, options: Options, measure: Measure, solve: Solve) -> None:
        self._options, self._measure, self._solve = options, measure, solve

    def tried(self, answer: Answer, measured: Measured) -> Iterator[Tried]:
        """Yields what each lever comes to, from what the program does without one."""
        yield from self._checkpointing(answer, measured)
        yield from self._smaller_batches(answer)
        yield from self._fewer_bits(answer, measured)
        yield from self._more_gpus(measured)

    def _checkpointing(self, answer: Answer, measured: Measured) -> Iterator[Tried]:
        reason = wording.no_checkpointing(answer, measured)
        if reason:
            yield Tried("checkpointing", reason=reason, is_tried=False)
        else:
            yield self._with_lever("checkpointing", 0, Request(checkpointing=True))

    def _smaller_batches(self, answer: Answer) -> Iterator[Tried]:
        batch = answer.batch
        if batch < 2:
            reason = message("the batch is one sample") if batch else message("the model is given no batch")
            yield Tried("batch", reason=reason, is_tried=False)
        while batch > 1:
            batch //= 2
            tried = self._with_lever("batch", batch, Request(batch=batch))
            yield tried
            if tried.fits or not tried.is_tried:
                break

    def _fewer_bits(self, answer: Answer, measured: Measured) -> Iterator[Tried]:
        reason = wording.no_quantization(answer, measured)
        if reason:
            yield Tried("quantization", reason=reason, is_tried=False)
        for bits in () if reason else _BITS:
            tried = self._with_lever("quantization", bits, Request(bits=bits))
            yield tried
            if tried.fits or not tried.is_tried:
                break

    def _more_gpus(self, measured: Measured) -> Iterator[Tried]:
        """The fewest GPUs, more of the last kind, with which a map fits."""
        count = len(self._options.gpus)
        tried: Tried | None = None
        for number in range(count + 1, min(4 * count, MAX_GPUS) + 1):
            tried = self._solve("gpus", number, measured, with_gpus(self._options, number), Request())
            if tried.fits:
                break
        if tried is not None:
            yield tried

    def _with_lever(self, what: str, value: int, request: Request) -> Tried:
        try:
            _, measured, _ = self._measure(request)
        except ProgramFails as error:
            reason = message("the program fails with it: {error}", error=error.failure)
            return Tried(what, value, reason=reason, is_tried=False)
        except DevsanError as error:
            return Tried(what, value, reason=str(error))
        return self._solve(what, value, measured, self._options, request)
