"""Processes that judge subjects side by side. One that dies is replaced; what it was at counts as failing."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
import warnings
from collections.abc import Iterator
from multiprocessing import connection
from typing import Any

from .report import Report

SECONDS = 180  # for one subject


def work(pipe: Any, limit: float) -> None:
    import torch

    from devsan import emulate

    from .judging import judge
    from .samples import subjects

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)  # sums do not depend on how they are split
    found = subjects()
    with emulate(gpus=2), contextlib.suppress(EOFError):
        torch.cuda.init()  # else every seed is put down with a stack, for later
        while True:
            pipe.send(judge(found[pipe.recv()], limit))


class Worker:
    """A process, and the subject that it is at."""

    def __init__(self, limit: float) -> None:
        context = multiprocessing.get_context("fork")  # torch's lists are imported already
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, limit), daemon=True)
        self.process.start()
        theirs.close()
        self.subject: int | None = None
        self.since = 0.0

    def give(self, subject: int) -> None:
        self.subject, self.since = subject, time.monotonic()
        self.pipe.send(subject)

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def judge_all(wanted: list[int], names: list[str], limit: float, jobs: int) -> Iterator[Report]:
    """A report for each subject of `wanted`, as they come; `names` is of all subjects."""
    queue = list(reversed(wanted))
    workers = [Worker(limit) for _ in range(min(jobs, len(queue)))]
    for worker in workers:
        worker.give(queue.pop())
    while workers:
        ready = connection.wait([worker.pipe for worker in workers], timeout=5)
        for worker in list(workers):
            lost = None
            if worker.pipe in ready:
                try:
                    yield worker.pipe.recv()
                except EOFError:
                    worker.process.join()
                    lost = f"the process ended with {worker.process.exitcode}"
            elif time.monotonic() - worker.since > SECONDS:
                lost = f"not done after {SECONDS} s"
            else:
                continue
            assert worker.subject is not None
            if lost is not None:
                report = Report(names[worker.subject])
                report.failing.append(("process", -1, [lost]))
                yield report
                worker.end()
                workers.remove(worker)
                if queue:
                    worker = Worker(limit)
                    workers.append(worker)
            if queue:
                worker.give(queue.pop())
            elif worker in workers:
                worker.end()
                workers.remove(worker)
