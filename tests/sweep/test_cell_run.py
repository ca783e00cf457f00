"""Cells that really run: as forks, as processes of their own, as commands with children."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.sweep.cell import Cell
from devsan.sweep.cell_run import CellRunner
from devsan.sweep.definition import Definition, environment_of
from devsan.sweep.matrix import axes_of, cells_of
from devsan.sweep.stages import Stages

Sweep = Callable[[str], Definition]

CHILD = """\
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(500)"], start_new_session=True)
time.sleep(500)
"""


def runner(definition: Definition, seconds: float = 100.0, **environment: str) -> tuple[CellRunner, list[Cell]]:
    variables = {**environment_of(definition), **environment}
    stages = Stages(variables, definition.preload, str(definition.folder), 2)
    made = CellRunner(str(definition.folder), variables, stages, seconds, 0)
    return made, cells_of(definition, axes_of(definition))


def marked(mark: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


@pytest.mark.long
def test_modules_of_the_project_are_imported_once(sweep: Sweep, tmp_path: Path) -> None:
    tmp_path.joinpath("shared.py").write_text("import os\nprocess = os.getpid()\n", encoding="utf-8")
    cells_program = 'import os, sys\nassert sys.modules["shared"].process != os.getpid()\nprint(os.environ["ONE"])\n'
    definition = sweep('command = "train.py"\npreload = ["shared"]\n[matrix.environment]\nONE = [1, 2]\n')
    tmp_path.joinpath("train.py").write_text(cells_program, encoding="utf-8")
    run, cells = runner(definition)
    try:
        assert [run.run(cell)[0].status for cell in cells] == ["passed", "passed"]
    finally:
        run.stages.close()


@pytest.mark.long
def test_a_module_that_ends_the_process(sweep: Sweep, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.joinpath("broken.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    definition = sweep('command = "train.py"\npreload = ["broken"]\n[matrix]\ngpus = [2, 3]\n')
    run, cells = runner(definition)
    try:
        assert [run.run(cell)[0].status for cell in cells] == ["passed", "passed"]
    finally:
        run.stages.close()
    assert capsys.readouterr().err.count("the process that imports what cells share has ended") == 1


@pytest.mark.long
def test_what_a_command_started_ends_with_it(sweep: Sweep, tmp_path: Path) -> None:
    definition = sweep('command = "-- python train.py"\n[matrix]\ngpus = [2]\n')
    tmp_path.joinpath("train.py").write_text(CHILD, encoding="utf-8")
    mark = f"MARK={tmp_path}"
    run, [cell] = runner(
        definition, 8.0, MARK=str(tmp_path), PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    )
    result, group = run.run(cell)
    assert result.status == "stopped" and group is not None and group.status == "stopped"
    until = time.monotonic() + 10
    while marked(mark) and time.monotonic() < until:
        time.sleep(0.1)
    assert marked(mark) == []
