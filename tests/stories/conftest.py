"""Runs the programs of the stories on emulated GPUs in this process, and keeps what a user would see."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDERS = (Path(__file__).parent / "programs", Path(__file__).parents[2] / "examples")

# Seconds between torchrun's looks at its ranks: when it sees that one is gone it ends the others, and here each is to
# die of its own error.
_PATIENCE = "6"

_CHANGE = re.compile(r" *(\d+) ([-+]) (.*)")


@dataclass
class Rehearsal:
    """What a run left: its output, the sentence it died with ("" when it did not), the report on that; its text."""

    out: str
    sentence: str
    report: str
    text: str

    @property
    def prose(self) -> str:
        """The report without its line breaks."""
        return " ".join(self.report.split())

    def mended(self) -> str:
        """The program's text with the change that the report shows."""
        changes = [_CHANGE.fullmatch(line) for line in self.report.splitlines()]
        [(number, before)] = [(int(found[1]), found[3]) for found in changes if found and found[2] == "-"]
        [after] = [found[3] for found in changes if found and found[2] == "+"]
        lines = self.text.splitlines(keepends=True)
        assert lines[number - 1].count(before) == 1
        lines[number - 1] = lines[number - 1].replace(before, after)
        return "".join(lines)


Rehearse = Callable[..., Rehearsal]


@pytest.fixture
def rehearse(monkeypatch: pytest.MonkeyPatch) -> Rehearse:
    """Returns a function that runs a program, or other text in its place, with its words on so many GPUs."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("DEVSAN_LANG", "en")
    for name in ("ACCELERATE_TORCH_DEVICE", "FORCE_COLOR"):
        monkeypatch.setenv(name, "")  # so that it is put back, whatever the program sets
        monkeypatch.delenv(name)

    def run(name: str, *words: str, gpus: int, text: str = "", policy: str = "stop") -> Rehearsal:
        import devsan
        from devsan.error_report import on_exception

        gc.collect()  # another program's model is none of this one's
        file = next(folder / name for folder in FOLDERS if (folder / name).is_file())
        monkeypatch.setattr(sys, "argv", [str(file), *words])
        out, report = io.StringIO(), io.StringIO()
        sentence = ""
        source = text or file.read_text(encoding="utf-8")
        warnings = contextlib.redirect_stderr(report) if policy == "warn" else contextlib.nullcontext()
        with warnings, devsan.emulate(gpus=gpus, policy=policy), contextlib.redirect_stdout(out):
            try:
                exec(compile(source, str(file), "exec"), {"__name__": "__main__", "__file__": str(file)})
            except Exception as error:
                sentence = str(error)
                on_exception(type(error), error, error.__traceback__, report)
            finally:
                _forget_accelerate()
        return Rehearsal(out.getvalue(), sentence, report.getvalue(), source)

    return run


@dataclass
class Job:
    """What a job of several processes left: its exit code, its output, and what DevSan and torch said of it."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> str:
        """The job's one report; "" without one."""
        _, found, rest = self.err.partition("\nerror[DV")
        return f"error[DV{rest}" if found else ""

    @property
    def prose(self) -> str:
        return " ".join(self.report.split())


@pytest.fixture
def launched(tmp_path: Path) -> Callable[..., Job]:
    """Returns a function that runs a program of the stories on so many GPUs: in ranks of torchrun, or as it is."""

    psutil = pytest.importorskip("psutil")

    def run(name: str, *words: str, gpus: int, ranks: int = 0) -> Job:
        kept = {key: text for key, text in os.environ.items() if key not in ("DEVSAN_OPTIONS", "DEVSAN_JOB")}
        kept |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "OMP_NUM_THREADS": "1", "DEVSAN_LANG": "en"}
        program = [str(FOLDERS[0] / name), *words]
        if ranks:
            launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--monitor-interval", _PATIENCE]
            program = ["--", *launcher, "--nproc-per-node", str(ranks), *program]
        command = [sys.executable, "-m", "devsan", "run", "--gpus", str(gpus), *program]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=tmp_path, env=kept, text=True, stdout=pipe, stderr=pipe, start_new_session=True
        ) as process:
            try:
                out, err = process.communicate(timeout=180)
            except subprocess.TimeoutExpired:
                for started in psutil.Process(process.pid).children(recursive=True):  # each rank is its own session
                    started.kill()
                process.kill()
                out, err = process.communicate()
                pytest.fail(f"expected {name} to end, got none in 180 s\n{out}\n{err[-4000:]}")
        return Job(process.returncode, out, err)

    return run


def _forget_accelerate() -> None:
    state = sys.modules.get("accelerate.state")
    if state is not None:  # it keeps the device of the first Accelerator of a process
        state.AcceleratorState._reset_state(True)
