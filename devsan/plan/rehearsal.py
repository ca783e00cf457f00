"""The rehearsals of a plan: one program, with other GPUs and other requests."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from devsan.blocks.request import Answer, Request, read_answer, write_request
from devsan.errors import DevsanError
from devsan.fix.experiment import Laboratory
from devsan.fix.job import Job
from devsan.fix.outcome import Outcome
from devsan.fix.stage_process import StageProcess
from devsan.options import BLOCKS, Options
from devsan.plan.ending import NO_LIMIT, Ending, ending_of


class ProgramFails(DevsanError):
    """Memory is not why the program does not run to its end.

    Attributes:
        failure: what it fails with, such as "ValueError: no data".
    """

    def __init__(self, failure: str) -> None:
        super().__init__(
            f"expected a program that runs to its end where memory is no limit, got {failure}; devsan run shows it"
        )
        self.failure = failure


@dataclass(frozen=True)
class Rehearsal:
    """What one rehearsal came to.

    Attributes:
        outcome: of the program.
        answer: of the blocks of its model.
    """

    outcome: Outcome
    answer: Answer

    @property
    def ending(self) -> Ending:
        """Returns how it ended."""
        return ending_of(self.outcome)

    @property
    def transferred(self) -> int:
        """Returns the bytes that moved between GPUs."""
        places = (place for place in self.outcome.places if place["from"].startswith("cuda"))
        return sum(place["bytes"] for place in places if place["to"].startswith("cuda"))


@dataclass
class Rehearsals:
    """Runs rehearsals of one job. A context manager.

    Attributes:
        job: what is planned; at full size.
        seconds: the most that one rehearsal may take.
    """

    job: Job
    seconds: float = 600.0
    _folder: Path = field(init=False)
    _stage: StageProcess | None = field(default=None, init=False)
    _count: int = field(default=0, init=False)

    def __enter__(self) -> Rehearsals:
        self._folder = Path(tempfile.mkdtemp(prefix="devsan-plan-"))
        return self

    def __exit__(self, *_: object) -> None:
        if self._stage is not None:
            self._stage.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, request: Request | None = None, options: Options | None = None) -> Rehearsal:
        """Rehearses the program once.

        Args:
            request: what is asked of it; None runs it as it is.
            options: of the emulation; those of the job without it.

        Raises:
            DevsanError: no process could be started.
        """
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        environment = {name: text for name, text in self.job.environment.items() if name != BLOCKS}
        if request is not None:
            write_request(folder, request)
            environment[BLOCKS] = str(folder)
        job = replace(self.job, options=options or self.job.options, environment=environment)
        if self._stage is None:
            self._stage = StageProcess(self.job.environment, self.job.python, folder=self.job.folder)
        with Laboratory(job, self.seconds, 1, NO_LIMIT, self._stage, compiled=False) as laboratory:
            outcome = laboratory.run(observed=False)
        return Rehearsal(outcome, read_answer(folder))
