"""Plans one launched job: each strategy is rehearsed, then levers where none fits."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from devsan.diagnostics.messages import message
from devsan.errors import DevsanError
from devsan.fix.experiment import Laboratory
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
from devsan.plan.launched.result import LaunchPlan, Tried
from devsan.plan.launched.strategy import FSDP2, LEANEST, ZERO_3, Strategy

Progress = Callable[[str], None]


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
        self._progress: Progress = lambda _: None
        ranks = launch.facts.ranks or len(job.options.gpus)
        self._way: AccelerateWay | DeepspeedWay
        if launch.document:
            self._way = DeepspeedWay(launch, job.words[1:], ranks)
        else:
            self._way = AccelerateWay(launch, job.folder, ranks)
        self._ranks = ranks

    def plan(self, progress: Progress, all_levers: bool = False) -> LaunchPlan:
        """Returns the plan.

        Args:
            progress: called with what is done next.
            all_levers: try levers also where something fits.

        Raises:
            DevsanError: no strategy runs, and none for want of memory.
        """
        self._progress = progress
        tried = [self._rehearsed(self._way.configuration(strategy)) for strategy in self._way.strategies]
        if all(each.fails for each in tried):
            got = tried[0].reason
            raise DevsanError(f"expected a job that runs or is out of memory, got {got}; devsan run shows it")
        gpus = [device.total_memory for device in self._job.options.devices()]
        plan = LaunchPlan(self._launch.facts.script, gpus, tried)
        if plan.fits and not all_levers:
            return plan
        failing = {each.configuration.strategy for each in tried if each.fails}
        leanest = [each for each in (FSDP2, ZERO_3, LEANEST) if each in self._way.strategies and each not in failing]
        return dataclasses.replace(plan, levers=list(self._levers(leanest)) if leanest else [])

    def _levers(self, leanest: Sequence[Strategy]) -> Iterator[Tried]:
        for strategy in leanest:
            if self._way.can_checkpoint(strategy):
                yield self._rehearsed(self._way.configuration(strategy, Lever(checkpointing=True)))
        batch = self._way.batch
        while batch > 1:
            batch //= 2
            found = self._rehearsed(self._way.configuration(leanest[-1], Lever(batch=batch)))
            yield found
            if found.fits:
                break
        ranks = 2 * self._ranks
        while ranks <= min(4 * self._ranks, MAX_GPUS):
            found = self._rehearsed(self._way.configuration(leanest[0], Lever(gpus=ranks)))
            yield found
            if found.fits:
                break
            ranks *= 2

    def _rehearsed(self, configuration: Configuration) -> Tried:
        self._progress(message("rehearsing {strategy}", strategy=configuration.strategy.name))
        options = self._job.options
        if configuration.lever.gpus:
            options = with_gpus(options, max(configuration.lever.gpus, len(options.gpus)))
        with tempfile.TemporaryDirectory(prefix="devsan-plan-") as folder:
            for name, text in configuration.files.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            texts = {os.path.abspath(path): configuration.files[name] for path, name in configuration.replaces.items()}
            outcome = self._run(options, configuration.command_in(folder), texts)
        ending = ending_of(outcome, outcome.output)
        return Tried(configuration, not ending.reason, dict(outcome.peaks), sum(outcome.hosts.values()),
                     max(outcome.sent.values(), default=0), outcome.seconds, ending.reason, ending.fails)  # fmt: skip

    def _run(self, options: Options, command: list[str], texts: dict[str, str]) -> Outcome:
        job = replace(self._job, options=options, words=("--", *command))
        with Laboratory(job, self._seconds, 1, NO_LIMIT, compiled=False) as laboratory:
            return laboratory.run(texts, observed=False)
