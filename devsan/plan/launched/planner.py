"""Plans one launched job: each strategy is rehearsed, then levers where none fits."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from devsan.diagnostics.messages import Message, message
from devsan.errors import DevsanError
from devsan.fix.job import Job
from devsan.fix.outcome import Outcome
from devsan.gpu_list import MAX_GPUS
from devsan.options import Options
from devsan.plan.ending import NO_LIMIT, ending_of
from devsan.plan.gpus import with_gpus
from devsan.plan.launched.accelerate_way import AccelerateWay
from devsan.plan.launched.configuration import Configuration, Lever
from devsan.plan.launched.deepspeed_way import DeepspeedWay
from devsan.plan.launched.launch import Launch
from devsan.plan.launched.need import AccountingLaboratory, Held, Need
from devsan.plan.launched.result import LaunchPlan, Tried
from devsan.plan.launched.strategy import FSDP2, LEANEST, ZERO_3, Strategy
from devsan.plan.placement import VAST, room
from devsan.plan.progress import Progress
from devsan.plan.shortage import shortage_of


class LaunchPlanner:
    """Plans one job.

    Args:
        job: the command, at full size.
        launch: what it launches.
        seconds: the most that one rehearsal may take.
    """

    def __init__(self, job: Job, launch: Launch, seconds: float) -> None:
        self._job = job
        self._launch = launch
        self._seconds = seconds
        self._tried: list[Tried] = []
        self._levers: list[Tried] = []
        self._needs: list[Need] = []
        ranks = launch.facts.ranks or len(job.options.gpus)
        self._way: AccelerateWay | DeepspeedWay
        if launch.document:
            self._way = DeepspeedWay(launch, job.words[1:], ranks)
        else:
            self._way = AccelerateWay(launch, job.folder, ranks)
        self._ranks = ranks

    def plan(self, progress: Progress[Tried | Need], all_levers: bool = False) -> LaunchPlan:
        """Returns the plan: of what has been rehearsed so far, where it is interrupted.

        Args:
            progress: is told of each rehearsal.
            all_levers: try levers also where something fits.

        Raises:
            DevsanError: no strategy runs, and none for want of memory.
            KeyboardInterrupt: it is interrupted before anything is known.
        """
        self._tried, self._levers, self._needs = [], [], []
        try:
            self._rehearse(progress, all_levers)
        except KeyboardInterrupt:
            if not self._tried:
                raise
            return dataclasses.replace(self._so_far(), is_partial=True)
        return self._so_far()

    def _so_far(self) -> LaunchPlan:
        gpus = [device.total_memory for device in self._job.options.devices()]
        return LaunchPlan(self._launch.facts.script, gpus, tuple(self._tried), tuple(self._levers),
                          tuple(self._needs), len(self._way.strategies))  # fmt: skip

    def _rehearse(self, progress: Progress[Tried | Need], all_levers: bool) -> None:
        for strategy in self._way.strategies:
            configuration = self._way.configuration(strategy)
            progress.begins(_rehearsing(configuration), len(self._way.strategies))
            self._tried.append(self._rehearsed(configuration))
            progress.ended(self._tried[-1])
        if all(each.fails for each in self._tried):
            got = self._tried[0].reason
            raise DevsanError(f"expected a job that runs or is out of memory, got {got}; devsan run shows it")
        if any(each.fits for each in self._tried) and not all_levers:
            return
        failing = {each.configuration.strategy for each in self._tried if each.fails}
        leanest = [each for each in (FSDP2, ZERO_3, LEANEST) if each in self._way.strategies and each not in failing]
        kinds = self._kinds_of_lever(leanest) if leanest else []
        nearest = [] if any(each.fits for each in self._tried) else _nearest(leanest)
        most = len(self._tried) + len(nearest) + sum(map(len, kinds))
        for strategy in nearest:
            progress.begins(message("rehearsing {strategy} without a limit of memory", strategy=strategy.name), most,
                            is_most=True)  # fmt: skip
            need = self._need(self._way.configuration(strategy))
            if need is not None:
                self._needs.append(need)
                progress.ended(need)
        for kind in kinds:
            for configuration in kind:
                progress.begins(_rehearsing(configuration), most, is_most=True)
                self._levers.append(self._rehearsed(configuration))
                progress.ended(self._levers[-1])
                if self._levers[-1].fits:
                    break

    def _kinds_of_lever(self, leanest: Sequence[Strategy]) -> list[list[Configuration]]:
        """Levers, each kind in the order in which it is tried until one fits."""
        of, batch, ranks = self._way.configuration, self._way.batch, self._ranks
        kinds = [[of(each, Lever(checkpointing=True))] for each in leanest if self._way.can_checkpoint(each)]
        batches = [batch >> halved for halved in range(1, batch.bit_length())]
        kinds.append([of(leanest[-1], Lever(batch=each)) for each in batches])
        kinds.append([of(leanest[0], Lever(gpus=each)) for each in (2 * ranks, 4 * ranks) if each <= MAX_GPUS])
        return kinds

    def _need(self, configuration: Configuration) -> Need | None:
        options = replace(self._job.options, memory=(VAST,), used_memory=())
        _, held = self._launched(configuration, options, is_accounted=True)
        if held is None:
            return None
        device = self._job.options.devices()[int(held.device.removeprefix("cuda:"))]
        return Need(configuration, held, room(device.total_memory) - device.used_memory)

    def _rehearsed(self, configuration: Configuration) -> Tried:
        options = self._job.options
        if configuration.lever.gpus:
            options = with_gpus(options, max(configuration.lever.gpus, len(options.gpus)))
        outcome, _ = self._launched(configuration, options)
        ending = ending_of(outcome, outcome.output)
        shortage = shortage_of(outcome) if ending.exhausted is not None else None
        return Tried(configuration, not ending.reason, dict(outcome.peaks), sum(outcome.hosts.values()),
                     max(outcome.sent.values(), default=0), outcome.seconds, ending.reason, ending.fails,
                     shortage)  # fmt: skip

    def _launched(
        self, configuration: Configuration, options: Options, is_accounted: bool = False
    ) -> tuple[Outcome, Held | None]:
        """Rehearses it; with ``is_accounted`` also reads who held the memory, where it runs to its end."""
        with tempfile.TemporaryDirectory(prefix="devsan-plan-") as folder:
            for name, text in configuration.files.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            texts = {os.path.abspath(path): configuration.files[name] for path, name in configuration.replaces.items()}
            return self._run(options, configuration.command_in(folder), texts, is_accounted)

    def _run(
        self, options: Options, command: list[str], texts: dict[str, str], is_accounted: bool
    ) -> tuple[Outcome, Held | None]:
        job = replace(self._job, options=options, words=("--", *command))
        laboratory = AccountingLaboratory(job, self._seconds, 1, NO_LIMIT, compiled=False)
        with laboratory:
            outcome = laboratory.run(texts, observed=False)
            return outcome, laboratory.fullest() if is_accounted and outcome.ended else None


def _nearest(leanest: Sequence[Strategy]) -> list[Strategy]:
    """Those that may need the least memory of a GPU: of two that differ in what is on the host, the one with more."""
    return [each for each in leanest if each is not ZERO_3 or LEANEST not in leanest]


def _rehearsing(configuration: Configuration) -> Message:
    name, lever = configuration.strategy.name, configuration.lever
    if lever.gpus:
        return message("rehearsing {strategy} on {count} GPUs", strategy=name, count=lever.gpus)
    if lever.batch:
        return message("rehearsing {strategy} with a batch of {count}", strategy=name, count=lever.batch)
    if lever.checkpointing:
        return message("rehearsing {strategy} with activation checkpointing", strategy=name)
    return message("rehearsing {strategy}", strategy=name)
