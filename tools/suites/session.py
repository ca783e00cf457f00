"""A file of a suite, run to its end: over crashes and over tests that take too long."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from suite import Suite

CHILD = Path(__file__).parent / "child"
BAD = ("failed", "crashed", "timeout")


class Outcome(NamedTuple):
    name: str  # TestViewOpsCUDA.test_view_cuda_float32, or <file> for the file as a whole
    outcome: str  # passed, failed, skipped, crashed or timeout
    text: str  # the error's sentence, or the reason of a skip


class Session(NamedTuple):
    """How tests are run."""

    suite: Suite
    checkout: Path
    gpus: str = "2"
    memory: str = "4GiB"
    limit: float = 120
    every: int = 1
    packages: Path | None = None  # a folder of packages that only the tests import

    def run(self, name: str, *, emulated: bool = True, only: list[str] | None = None) -> list[Outcome]:
        """Runs the tests of a file; a test that ends its process, or takes longer than the limit, costs itself only."""
        outcomes: dict[str, Outcome] = {}
        with tempfile.TemporaryDirectory() as folder:
            while True:
                lines, log = Path(folder) / "lines", Path(folder) / "log"
                lines.write_text("")
                process = self._start(name, emulated, only, list(outcomes), Path(folder))
                ended = _watch(process, lines, self.limit)
                started, collected, finished = None, False, False
                for line in map(json.loads, lines.read_text().splitlines()):
                    collected, finished = collected or "collected" in line, finished or "finished" in line
                    started = line.get("start", started)
                    if "whole" in line:
                        outcomes["<file>"] = Outcome("<file>", line["whole"], line["text"])
                    elif "end" in line:  # a test of several parts ends as its first bad part did
                        before = outcomes.get(line["end"])
                        if before is None or before.outcome not in BAD:
                            outcomes[line["end"]] = Outcome(line["end"], line["outcome"], line["text"])
                if finished and (collected or outcomes):
                    return list(outcomes.values())
                tail = " | ".join(log.read_text(errors="replace").strip().splitlines()[-3:])
                if started is None or started in outcomes:  # not in a test: the file cannot be run, or its end failed
                    outcomes["<file>"] = Outcome("<file>", ended, tail)
                    return list(outcomes.values())
                text = f"exit code {process.returncode}" if ended == "crashed" else f"more than {self.limit:g} s"
                outcomes[started] = Outcome(started, ended, text)

    def _start(
        self, name: str, emulated: bool, only: list[str] | None, over: list[str], folder: Path
    ) -> subprocess.Popen[bytes]:
        job = {"match": self.suite.match if emulated else "", "only": only, "every": self.every, "over": over}
        (folder / "job").write_text(json.dumps(job))
        command = [sys.executable, "-P"]
        if emulated:
            command += ["-m", "devsan", "run", "--gpus", self.gpus, "--memory", self.memory, "--format", "off"]
        command += ["-m", "pytest", "-q", "-o", "addopts=", "-p", "suite_recorder", "-p", "no:cacheprovider"]
        command += ["-p", "no:random_order", "-p", "no:xdist", "--suite-job", str(folder / "job")]
        command += ["--suite-lines", str(folder / "lines"), *self.suite.options, f"{self.suite.tests}/{name}"]
        with (folder / "log").open("w") as log:
            return subprocess.Popen(
                command, cwd=self.checkout, env=self._environment(emulated, folder), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def _environment(self, emulated: bool, folder: Path) -> dict[str, str]:
        scripts = str(Path(sys.executable).parent)  # torchrun and accelerate, which the tests start
        path = [str(CHILD), *([str(self.checkout / self.suite.path)] if self.suite.path else [])]
        path += [str(self.packages)] if self.packages else []
        device = "cuda" if emulated else "cpu"
        kept = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}  # of the caller's pytest
        return {
            **kept,
            "PATH": os.pathsep.join([scripts, os.environ.get("PATH", "")]),
            "PYTHONPATH": os.pathsep.join(path),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "PYTORCH_TESTING_DEVICE_ONLY_FOR": device,
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "1" if emulated else "0",
            "TMPDIR": str(folder),
        }


def _watch(process: subprocess.Popen[bytes], lines: Path, limit: float) -> str:
    """Waits for the process's end, or ends it when no line came for ``limit`` seconds; an import has ten limits."""
    size, since = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = lines.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > (limit if size else 10 * limit):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "timeout"
    return "crashed"
