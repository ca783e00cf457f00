"""``devsan sweep``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from devsan.cli.command import Action, Parser, add_format, add_language, add_output
from devsan.cli.interruptible import EXIT_INTERRUPTED, interruptible
from devsan.cli.sweep_progress import SweepProgress
from devsan.diagnostics.messages import message
from devsan.errors import EXIT_USAGE, DevsanError, UsageError, tell
from devsan.render import json, junit
from devsan.render.html import sweep as html
from devsan.render.notice import notice
from devsan.render.terminal import sweep as terminal
from devsan.run_files import output_file
from devsan.sweep.account import result_of
from devsan.sweep.cell import Cell
from devsan.sweep.cell_run import CellRunner
from devsan.sweep.definition import Definition, environment_of, read_definition
from devsan.sweep.group_fixes import drawn, find_fixes
from devsan.sweep.matrix import axes_of, cells_of, check_interpreters, selected
from devsan.sweep.result import FAILURES, SweepResult
from devsan.sweep.schedule import Schedule
from devsan.sweep.stages import Stages
from devsan.sweep.state import State

EXIT_PASSED, EXIT_FAILED = 0, 1

_USAGE = "devsan sweep [options] sweep.toml"

_EPILOG = """\
A sweep file:

  command = "train.py --map {device_map}"
  timeout = 120

  [matrix]
  gpus = [2, 4]
  profile = ["a100-80g", "l4-24g"]
  device_map = ["auto", "balanced"]

Exit code: 0 if no cell failed, 1 if one did, 2 for invalid arguments or an invalid sweep file."""


class SweepCommand:
    """Run one program over a matrix of GPUs, parameters, environments and interpreters.

    Cells that are done are not run again: a sweep that was stopped goes on where it was. Failures of one cause are one
    group, with one report.
    """

    name = "sweep"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the words and the sweep file; the cells are started by what is returned."""
        parser = Parser(self, usage=_USAGE, epilog=_EPILOG)
        parser.add_argument("file", metavar="sweep.toml", help="what runs, and the values of each axis")
        parser.add_argument("--jobs", metavar="N", type=_count, default=0,
                            help="cells at once (default: jobs of the sweep file, or the number of CPUs)")  # fmt: skip
        parser.add_argument("--only", metavar="AXIS=VALUE", action="append", default=[],
                            help="run and show only the cells with this value, which may be a pattern")  # fmt: skip
        parser.add_argument(
            "--state", metavar="FOLDER", help="keep the state in FOLDER (default: beside the sweep file)"
        )
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--fresh", action="store_true", help="forget what is known and run all cells")
        how.add_argument("--failed", action="store_true", help="run cells again that did not pass")
        parser.add_argument("--fix", action="store_true", help="look for a fix of each group of device failures")
        parser.add_argument("--sample", metavar="N", type=_count, default=0,
                            help="with --fix: of N groups, drawn at random")  # fmt: skip
        add_format(parser, "terminal", "json", "html", "junit")
        add_output(parser, "write to FILE instead of stdout")
        add_language(parser)
        asked = parser.read(words)
        if asked.sample and not asked.fix:
            raise UsageError("--sample with --fix", "--sample alone")
        if asked.output is not None:
            output_file.check(asked.output, asked.force)  # before hours of work
        definition = read_definition(asked.file)
        axes = axes_of(definition)
        cells = cells_of(definition, axes)
        check_interpreters(cells, definition)
        if asked.only:
            cells = selected(cells, asked.only)
        return lambda: _run(asked, definition, axes, cells)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise UsageError("a number from 1 on", text)
    return value


def _run(
    asked: argparse.Namespace, definition: Definition, axes: dict[str, tuple[str, ...]], cells: Sequence[Cell]
) -> int:
    folder = Path(asked.state) if asked.state else definition.folder
    jobs = asked.jobs or definition.jobs or len(os.sched_getaffinity(0))
    state = State(folder / f"{definition.path.stem}.jsonl", asked.fresh)
    environment = environment_of(definition)
    if jobs > 1:  # the threads of each cell would be in the way of the others
        environment.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // jobs)))
    stages = Stages(environment, definition.preload, str(definition.folder), jobs + 1)
    runner = CellRunner(str(definition.folder), environment, stages, definition.timeout, definition.memory, jobs)
    progress = SweepProgress(len(cells), language=asked.lang)
    again = (*FAILURES, "skipped") if asked.failed else ()
    try:
        with interruptible(), state:
            try:
                Schedule(cells, runner, state, jobs, again, progress).run()
                result = result_of(definition, axes, cells, state)
                if asked.fix:
                    members = {cell.name: cell for cell in cells}
                    find_fixes(drawn(result.groups, asked.sample), members, runner, state, progress.fixing)
                    result = result_of(definition, axes, cells, state)
            finally:
                runner.stop()
                stages.close()
                progress.close()
    except KeyboardInterrupt:
        notice(message("interrupted; the cells that are done are in {path}", path=state.path))
        return EXIT_INTERRUPTED
    except DevsanError as error:
        tell(str(error))
        return EXIT_USAGE
    return _show(result, asked)


def _show(result: SweepResult, asked: argparse.Namespace) -> int:
    try:
        if asked.output is None:
            _write(result, asked, sys.stdout)
        else:
            name = output_file.free_name(asked.output, asked.force)
            with open(name, "w", encoding="utf-8") as file:
                _write(result, asked, file)
            if name != asked.output:
                notice(message("the report is in {name}", name=name))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        tell(str(UsageError("a file that can be written", f"{asked.output!r}: {error.strerror}")))
        return EXIT_USAGE
    return EXIT_FAILED if result.failed else EXIT_PASSED


def _write(result: SweepResult, asked: argparse.Namespace, stream: TextIO) -> None:
    if asked.format == "terminal":
        terminal.write(result, stream, asked.lang)
        return
    if asked.format == "html":
        text = html.render(result, asked.lang)
    else:
        text = {"json": json.render_sweep, "junit": junit.render}[asked.format](result)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
