"""The examples run in processes of their own, as a user runs them: under ``devsan run``, and on plain CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import programs
import pytest
import torch

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
RECORDER = Path(__file__).with_name("record.py")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def python(*words: str, folder: Path, afresh: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in os.environ.items() if name not in ("DEVSAN_OPTIONS", "CUDA_VISIBLE_DEVICES")}
    # One thread: the tests run side by side, and threads that wait for a core make them many times slower.
    kept |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub"), "OMP_NUM_THREADS": "1", **environment}
    if afresh:
        command = [sys.executable, *words]
        return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=300)
    return programs.run(words, cwd=folder, env=kept, libraries=programs.TRANSFORMERS)


@dataclass
class Recorder:
    """Runs an example through tests/examples/record.py and returns its records."""

    folder: Path

    def on_cpu(self, example: str, *runs: str) -> list[dict[str, Any]]:
        return self._record([], example, runs)

    def on_gpus(self, example: str, *runs: str, gpus: str = "4", **options: str) -> list[dict[str, Any]]:
        words = [word for name, text in options.items() for word in (f"--{name}", text)]
        return self._record(["-m", "devsan", "run", "--gpus", gpus, *words], example, runs)

    def _record(self, before: Sequence[str], example: str, runs: Sequence[str]) -> list[dict[str, Any]]:
        out = self.folder / ("emulated.pt" if before else "plain.pt")
        done = python(*before, str(RECORDER), str(out), str(EXAMPLES / example), *runs, folder=self.folder)
        assert done.returncode == 0, f"{example} {runs} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        records: list[dict[str, Any]] = torch.load(out, weights_only=False)
        return records


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs python with the words given, in a folder of its own; keywords are set in the environment.

    The program finds torch imported (tests/programs.py), unless it is to start afresh.
    """

    def call(*words: str, afresh: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
        return python(*words, folder=tmp_path, afresh=afresh, **environment)

    return call


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path)


@pytest.fixture(scope="module")
def module_recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    return Recorder(tmp_path_factory.mktemp("records"))
