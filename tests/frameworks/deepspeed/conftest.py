"""What DeepSpeed's jobs need beside those of the folder above: its launcher, ninja, and a place to compile."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def toolchain(pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("deepspeed") is None:  # not imported: this process has no GPUs
        pytest.skip("deepspeed is not installed")
    # What DeepSpeed compiles (a minute or two for each operator) is kept between runs of the tests.
    cache = getattr(pytestconfig, "cache", None)
    compiled = cache.mkdir(f"torch_extensions-{sys.version_info[1]}") if cache else tmp_path / "torch_extensions"
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(compiled))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    monkeypatch.delenv("DS_ACCELERATOR", raising=False)


@dataclass
class Ended:
    """A job that is over: its exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def prose(self) -> str:
        """stderr without line breaks and ranks."""
        return " ".join(" ".join(re.sub(r"^\[rank\d+\]: ?", "", line) for line in self.err.splitlines()).split())


Launch = Callable[..., Ended]


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    """Returns a function that runs a command to its end, within so many seconds."""

    def run(*words: str, limit: int = 400) -> Ended:
        own = ("DEVSAN_OPTIONS", "DEVSAN_JOB", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT")
        environment = {name: value for name, value in os.environ.items() if name not in own}
        environment |= {"OMP_NUM_THREADS": "1", "DEVSAN_LANG": "en", "COLUMNS": "120"}
        with subprocess.Popen(
            words, cwd=tmp_path, env=environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            try:
                out, err = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                pytest.fail(f"expected an end within {limit} s, got none\n{out[-2000:]}\n{err[-4000:]}")
        return Ended(process.returncode, out, err)

    return run
