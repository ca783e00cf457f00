"""Which cells run, in which order, and what happens when a sweep is stopped. Nothing is really run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from devsan.errors import DevsanError
from devsan.sweep.cell import Cell
from devsan.sweep.definition import Definition
from devsan.sweep.matrix import axes_of, cells_of
from devsan.sweep.result import CellResult, Group, Status
from devsan.sweep.schedule import Schedule
from devsan.sweep.state import State

Sweep = Callable[[str], Definition]

TEXT = """\
command = "train.py {model}"
baseline = { gpus = 1 }
[matrix]
model = ["a", "b"]
gpus = [2, 3]
"""


@dataclass
class Runner:
    """Takes the place of the one that runs cells."""

    statuses: dict[str, Status] = field(default_factory=dict)
    seconds: float = 10.0
    memory: int = 0
    no_memory: str = "it fails"
    ran: list[str] = field(default_factory=list)
    stopped: bool = False
    meets: threading.Barrier | None = None
    error: BaseException | None = None

    def run(self, cell: Cell) -> tuple[CellResult, Group | None]:
        self.ran.append(cell.name)
        if self.meets is not None:
            self.meets.wait(timeout=20)
        if self.error is not None:
            raise self.error
        status = self.statuses.get(cell.name, "passed")
        return CellResult(cell.key, cell.name, dict(cell.values), status, 10.0, reason="it fails"), None

    def stop(self) -> None:
        self.stopped = True


def ran(cells: list[Cell], runner: Runner, path: Path, jobs: int = 1, again: tuple[str, ...] = ()) -> State:
    with State(path) as state:
        Schedule(cells, runner, state, jobs, again).run()  # type: ignore[arg-type]
    return state


@pytest.fixture
def cells(sweep: Sweep) -> list[Cell]:
    definition = sweep(TEXT)
    return cells_of(definition, axes_of(definition))


def test_a_baseline_runs_once_in_front_of_its_cells(cells: list[Cell], tmp_path: Path) -> None:
    runner = Runner({"model=b gpus=1": "error"})
    state = ran(cells, runner, tmp_path / "state.jsonl")
    assert runner.ran == ["model=a gpus=1", "model=a gpus=2", "model=a gpus=3", "model=b gpus=1"]
    skipped = state.cells[cells[2].key]
    assert (skipped.status, skipped.reason) == ("skipped", "fails with gpus=1, too: it fails")


def test_what_is_done_is_not_run_again(cells: list[Cell], tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    ran(cells, Runner({"model=a gpus=2": "failed"}), path)
    again = Runner()
    ran(cells, again, path)
    assert again.ran == []
    ran(cells, again, path, again=("failed",))
    assert again.ran == ["model=a gpus=2"]


def test_what_was_stopped_runs_again_with_more_time(cells: list[Cell], tmp_path: Path) -> None:
    path = tmp_path / "state.jsonl"
    ran(cells, Runner({"model=a gpus=3": "stopped"}), path)
    same, longer = Runner(seconds=10.0), Runner(seconds=20.0)
    ran(cells, same, path)
    ran(cells, longer, path)
    assert (same.ran, longer.ran) == ([], ["model=a gpus=3"])


def test_what_was_stopped_for_its_memory_runs_again_with_more_memory(cells: list[Cell], tmp_path: Path) -> None:
    path = tmp_path / "sweep.jsonl"
    ran(cells, Runner({"model=a gpus=3": "stopped"}, 20.0, 1 << 30), path)
    runner = Runner(seconds=20.0, memory=1 << 30)
    ran(cells, runner, path)
    assert runner.ran == []
    runner = Runner(seconds=20.0, memory=2 << 30, no_memory="stopped at another limit")
    ran(cells, runner, path)
    assert runner.ran == ["model=a gpus=3"]


def test_cells_run_at_once(cells: list[Cell], tmp_path: Path) -> None:
    runner = Runner(meets=threading.Barrier(2))
    ran(cells, runner, tmp_path / "state.jsonl", jobs=2)
    assert sorted(runner.ran[:2]) == ["model=a gpus=1", "model=b gpus=1"], "a cell waits for its baseline alone"
    assert len(runner.ran) == 6


def test_an_error_of_devsans_own_ends_the_sweep(cells: list[Cell], tmp_path: Path) -> None:
    runner = Runner(error=DevsanError("no more"))
    with pytest.raises(DevsanError, match="no more"):
        ran(cells, runner, tmp_path / "state.jsonl", jobs=2)


def test_an_interrupt_stops_what_runs(cells: list[Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: threading.Thread, timeout: float | None = None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupt)
    runner = Runner(meets=threading.Barrier(2))
    with pytest.raises(KeyboardInterrupt):
        ran(cells, runner, tmp_path / "state.jsonl")
    assert runner.stopped
    assert runner.meets is not None
    runner.meets.abort()
