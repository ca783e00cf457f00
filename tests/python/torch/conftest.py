from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import programs
import pytest
import torch

from devsan import emulate
from devsan.emulation import Emulation

Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module", autouse=True)
def two_gpus() -> Iterator[Emulation]:
    """Two GPUs in this process. cuda:0 is current; the tests work on cuda:1, so that a wrong device shows."""
    with emulate(gpus=2) as emulation:
        yield emulation


@pytest.fixture
def same() -> Callable[..., None]:
    """Compares a result with the CPU's, and its device with the one that CUDA would give."""

    def check(actual: torch.Tensor, expected: torch.Tensor, device: str = "cuda:1") -> None:
        assert str(actual.device) == device
        torch.testing.assert_close(actual.detach().cpu(), expected.detach())

    return check


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program on two emulated GPUs in a new process. Fails with its stderr."""

    def run_program(program: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program), encoding="utf-8")
        result = programs.run([script], env={**os.environ, "DEVSAN_OPTIONS": "gpus=2"}, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        return result

    return run_program
