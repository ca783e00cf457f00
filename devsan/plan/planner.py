"""Plans one program: measure it, solve, rehearse the map, and try levers where it does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from devsan.blocks.measured import Measured
from devsan.blocks.request import Answer, Request
from devsan.diagnostics.messages import message
from devsan.errors import DevsanError
from devsan.options import Options
from devsan.plan import wording
from devsan.plan.ending import Ending
from devsan.plan.levers import Levers
from devsan.plan.map_check import MapCheck, check_map
from devsan.plan.placement import VAST, Placement, place, room, smallest
from devsan.plan.progress import Progress
from devsan.plan.rehearsal import ProgramFails, Rehearsal, Rehearsals
from devsan.plan.result import PlanResult, Tried
from devsan.plan.shortage import shortage_of

_FEWEST = 2
"""Rehearsals of a plan: of the program as it is, and of its blocks. A map is one more, where one fits the budgets."""

_ROUNDS = 6
_SMALLER = 0.97
"""What is left of the budgets for another map, where a rehearsal ran out of memory: what fragments, and what no block
accounts for, is known only then."""

_LONG = 60.0
"""Seconds of a rehearsal after which it is said that a shorter program would do."""

_FEW_STEPS = "that took {seconds} s, and so will each further rehearsal: two or three steps of the program are enough"

_MADE_WHOLE = (
    "the program creates the whole model on cuda:0, where it does not fit, before a device map can divide it; "
    "create it on the CPU"
)


class Planner:
    """Plans one program.

    Args:
        rehearsals: of the program.
        progress: is told of each rehearsal.
    """

    def __init__(self, rehearsals: Rehearsals, progress: Progress[Tried | Measured]) -> None:
        self._rehearsals = rehearsals
        self._options = rehearsals.job.options
        self._progress = progress

    def plan(self, all_levers: bool = False) -> PlanResult:
        """Returns the plan: of what has been rehearsed so far, where it is interrupted.

        Args:
            all_levers: try levers also where it fits.

        Raises:
            DevsanError: the program fails for another reason than memory, or places no model.
            KeyboardInterrupt: it is interrupted before anything is known.
        """
        self._progress.begins(message("rehearsing the program as it is"), _FEWEST)
        as_it_is = _tried("as it is", self._rehearsals.run())
        gpus = [device.total_memory for device in self._options.devices()]
        unknown = Tried("map", reason=message("interrupted"), is_tried=False)
        result = PlanResult(gpus, None, as_it_is, unknown, is_partial=True)
        try:
            self._plan(result, all_levers)
        except KeyboardInterrupt:
            return result
        result.is_partial = False
        return result

    def _plan(self, result: PlanResult, all_levers: bool) -> None:
        """Fills ``result``, each part as soon as it is known."""
        self._progress.ended(result.as_it_is)
        if result.as_it_is.seconds > _LONG:
            self._progress.tells(message(_FEW_STEPS, seconds=f"{result.as_it_is.seconds:.0f}"))
        answer, result.measured, result.whole = self.measure()
        result.rooms = self._rooms(self._options)
        if answer.made_whole and result.measured.size > result.rooms[0]:
            result.planned = Tried("map", reason=message(_MADE_WHOLE), is_tried=False, fails=True)
            return
        for tried in self._rounds("map", 0, result.measured, self._options, Request()):
            result.planned = tried  # at once: an interruption loses none of them
        if not result.planned.fits and not result.planned.fails:
            result.smallest = smallest(result.measured, len(self._options.gpus))
        if all_levers or not (result.fits or result.planned.fails):
            for lever in Levers(self._options, self.measure, self._solved).tried(answer, result.measured):
                result.levers.append(lever)

    def check(self, device_map: Mapping[str, int | str]) -> MapCheck:
        """Judges a map: what is wrong with its entries, and whether the program runs with it.

        Raises:
            DevsanError: as ``plan`` does.
        """
        answer, measured, _ = self.measure()
        assert answer.names is not None
        problems = check_map(device_map, measured, answer.names, len(self._options.gpus))
        if refused := next(filter(None, (problem.refused for problem in problems)), None):
            return MapCheck(measured.model, problems, Tried("map", reason=refused, is_tried=False))
        self._progress.begins(message("rehearsing the map"))
        known = {key: device for key, device in device_map.items() if answer.names.has(key)}
        return MapCheck(measured.model, problems, _tried("map", self._rehearsals.run(Request(device_map=known))))

    def measure(self, request: Request | None = None) -> tuple[Answer, Measured, int]:
        """Measures the blocks where memory does not matter, with all of them on one GPU; returns its peak, too.

        Raises:
            DevsanError: as ``plan`` does.
        """
        self._progress.begins(message("measuring the model block by block"), _FEWEST)
        request = replace(request or Request(), is_measured=True)
        vast = replace(self._options, memory=(VAST,), used_memory=())
        rehearsal = self._rehearsals.run(request, vast)
        if not rehearsal.outcome.ended:
            raise ProgramFails(rehearsal.outcome.failure or f"exit code {rehearsal.outcome.exit_code}")
        if rehearsal.answer.measured is None:
            raise DevsanError(
                "expected a program that places a model of several blocks: from_pretrained(device_map=...), "
                'dispatch_model, model.to(device), torch.device("cuda") or Trainer; '
                f"got {wording.placed(rehearsal.answer)}"
            )
        if not (request.batch or request.checkpointing or request.bits):  # of a lever only what it comes to is a row
            self._progress.ended(rehearsal.answer.measured)
        return rehearsal.answer, rehearsal.answer.measured, sum(rehearsal.outcome.peaks.values())

    def _rounds(self, what: str, value: int, measured: Measured, options: Options, request: Request) -> Iterator[Tried]:
        """Solves and rehearses until a map holds."""
        budgets = self._rooms(options)
        tried = Tried(what, value, reason=message("no map fits"))
        for number in range(1, _ROUNDS + 1):
            placement = place(measured, budgets)
            if placement is None:
                if number == 1:
                    if what != "gpus":  # of more GPUs many have none, and are no rows
                        self._progress.ended(tried)
                    yield tried
                return
            self._progress.begins(wording.rehearsing(tried, number, _ROUNDS))
            rehearsal = self._rehearsals.run(replace(request, device_map=placement.device_map), options)
            tried = _tried(what, rehearsal, value, placement)
            self._progress.ended(tried)
            yield tried
            if rehearsal.ending.exhausted is None:
                return
            budgets = [int(budget * _SMALLER) for budget in budgets]

    def _solved(self, what: str, value: int, measured: Measured, options: Options, request: Request) -> Tried:
        *_, last = self._rounds(what, value, measured, options, request)
        return last

    def _rooms(self, options: Options) -> list[int]:
        return [room(device.total_memory) - device.used_memory for device in options.devices()]


def _tried(what: str, rehearsal: Rehearsal, value: int = 0, placement: Placement | None = None) -> Tried:
    ending = rehearsal.ending
    if not ending.reason and what != "as it is" and not rehearsal.answer.places:
        ending = Ending(message("the program places no model where a map can be told"))
    return Tried(what, value, not ending.reason, dict(rehearsal.outcome.peaks), rehearsal.transferred, ending.reason,
                 placement, rehearsal.outcome.seconds, fails=ending.fails,
                 shortage=shortage_of(rehearsal.outcome) if ending.exhausted is not None else None)  # fmt: skip
