from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import programs
import pytest

from devsan import emulate
from devsan.emulation import Emulation

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def four_gpus() -> Iterator[Emulation]:
    """Four GPUs of 80 GiB in this process, for the module."""
    hidden = os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    with emulate(gpus=4) as emulation:
        yield emulation
    if hidden is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = hidden


@pytest.fixture(scope="module")
def hopper() -> Iterator[Emulation]:
    """An H100 with 2 GiB in this process, for the module: the GPU on which figures of memory were recorded."""
    with emulate(gpus="h100-80g", memory="2GiB") as emulation:
        yield emulation


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program in a new process; keywords are environment variables. Fails with its stderr.

    It finds torch imported (tests/programs.py), unless it is to start afresh.
    """

    def run_program(
        program: str, check: bool = True, afresh: bool = False, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program), encoding="utf-8")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("CUDA_", "DEVSAN_", "PYTORCH_"))}
        if afresh:
            words = [sys.executable, str(script)]
            kept |= environment
            result = subprocess.run(words, env=kept, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        else:
            result = programs.run([script], env={**kept, **environment}, cwd=tmp_path)
        if check:
            assert result.returncode == 0, result.stderr
        return result

    return run_program
