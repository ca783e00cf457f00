"""The job that is to be fixed: its words, and how it is started for an experiment."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from devsan.options import REPORTING, Options, find_option


@dataclass(frozen=True)
class Job:
    """A program or a command, as ``devsan run`` takes it.

    Attributes:
        options: of the emulation; ``policy``, ``output`` and ``format`` are each experiment's own.
        words: from the script, ``-m``, ``-c`` or ``--`` on.
        folder: where it runs.
        environment: of the job.
        python: the interpreter, which has DevSan installed.
    """

    options: Options
    words: tuple[str, ...]
    folder: str = field(default_factory=os.getcwd)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    python: str = sys.executable

    @property
    def is_command(self) -> bool:
        """Whether it is a command, whose processes find the emulation by themselves."""
        return self.words[:1] == ("--",)

    def run_words(self, policy: str, output: str, compared: bool = False) -> list[str]:
        """Returns what stands behind ``python`` to run it once.

        Args:
            policy: of the emulation.
            output: the run file.
            compared: whether its ranks, if it has any, are compared with each other, as the report on their job does.
                It takes seconds; in an experiment the report itself goes nowhere.
        """
        shown = "terminal" if compared else "off"
        own: Sequence[str] = [
            "--quiet",
            *(f"--{option}={value}" for option, value in (("policy", policy), ("format", shown), ("output", output))),
        ]
        given = []
        for item in self.options.to_variable().split(":"):
            key, _, value = item.partition("=")
            option = find_option(key)
            if key != "policy" and option.name not in REPORTING:
                given.append(f"--{key}" if option.is_flag else f"--{key}={value}")
        return ["-m", "devsan", "run", *given, *own, *self.words]
