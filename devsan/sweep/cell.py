"""A cell of a sweep: one run of the program, with a value of each axis."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass, field

from devsan.fix.job import Job
from devsan.options import Options


@dataclass(frozen=True)
class Cell:
    """One run of the program.

    Attributes:
        values: of the axes, in their order.
        name: those in one line: "gpus=2 model=BertModel".
        options: of the emulation.
        words: the program, as ``devsan run`` takes it.
        environment: what is added to that of the sweep.
        fixed: of these, what no parameter fills in, so that a process that several cells are forks of can have it.
        python: the interpreter; "" for that of DevSan itself.
        baseline: the cell that has to pass for this one to say anything; None without one.
    """

    values: tuple[tuple[str, str], ...]
    name: str
    options: Options
    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()
    python: str = ""
    baseline: Cell | None = field(default=None, compare=False)

    @functools.cached_property
    def key(self) -> str:
        """Returns what stays from sweep to sweep: everything that decides what runs."""
        parts = [self.options.to_variable(), self.words, self.environment, self.python]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def job(self, folder: str, environment: dict[str, str]) -> Job:
        """Returns what runs.

        Args:
            folder: where.
            environment: of the sweep.
        """
        made = Job(self.options, self.words, folder, {**environment, **dict(self.environment)})
        return made if not self.python else Job(made.options, made.words, made.folder, made.environment, self.python)
