"""What recorded runs hold, for a terminal: of the ranks of a launch the report on their job, then each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from devsan.job import text
from devsan.render.language import language_for
from devsan.render.terminal.run import write_run
from devsan.run_files.jobs import launches_of


def write(runs: Sequence[Mapping[str, Any]], stream: TextIO, language: str = "") -> None:
    """Writes ``runs`` to ``stream``, in color where that is wanted; in ``language``, by default the chosen one."""
    say = language_for(stream, language)
    for launch in launches_of(runs):
        if launch.job is not None:
            text.write(launch.job, stream, language)
        for run in launch.runs:
            write_run(run, stream, say, with_findings=launch.job is None)
