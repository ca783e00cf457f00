"""Run PyTorch's own device tests on emulated GPUs, and count what they say.

    tools/torch_tests.py <checkout of pytorch>/test --file test_view_ops.py --file nn/test_pooling.py

The files are read from a checkout of PyTorch, best of the version that is installed; none of them is kept here. The
tests that torch makes for device type cuda run in processes of their own: one that crashes or takes longer than
--limit costs itself only. --against-cpu runs those that failed once more, on plain CPU, without DevSan.

A failure that is known stands in tools/torch_tests_known.txt with its reason. The exit code is 1 if a test failed
that is not listed there.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import fnmatch
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any, NamedTuple

KNOWN = Path(__file__).with_name("torch_tests_known.txt")
BAD = ("failed", "crashed", "timeout")


class Outcome(NamedTuple):
    name: str  # TestViewOpsCUDA.test_view_cuda_float32
    outcome: str  # passed, failed, skipped, crashed or timeout
    text: str  # the error's last line


class Shard(NamedTuple):
    """Every ``of``-th test of a file, from ``index`` on."""

    file: Path
    index: int
    of: int


# ---- the worker: one process, one file -----------------------------------------------------------------------------


class _Result(unittest.TestResult):
    """Writes a line when a test starts and when it ends, so that the parent knows where a crash happened."""

    def __init__(self, out: Any) -> None:
        super().__init__()
        self._out = out
        self._ended = True

    def _write(self, **line: str) -> None:
        self._out.write(json.dumps(line) + "\n")
        self._out.flush()

    def _end(self, test: Any, outcome: str, text: str = "") -> None:
        self._write(end=_name(test), outcome=outcome, text=text)

    def startTest(self, test: Any) -> None:
        self._write(start=_name(test))

    def addSuccess(self, test: Any) -> None:
        self._end(test, "passed")

    def addSkip(self, test: Any, reason: str) -> None:
        self._end(test, "skipped", reason)

    def addFailure(self, test: Any, err: Any) -> None:
        lines = [line.strip() for line in str(err[1]).splitlines() if line.strip()]
        hint = next((i for i, line in enumerate(lines) if line.startswith("To execute this test")), len(lines))
        message = " | ".join(lines[:hint])
        frames, at = [], err[2]
        while at is not None:
            frames.append(f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}")
            at = at.tb_next
        last = next((f for f in reversed(frames) if not f.startswith(("common_", "_comparison", "case.py"))), "")
        self._end(test, "failed", f"{err[0].__name__}: {message[:600]} ({last})")

    addError = addFailure

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._end(test, "passed")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._end(test, "failed", "unexpected success")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.addFailure(test, err)


def _name(test: Any) -> str:
    return ".".join(test.id().split(".")[-2:])


def _flat(suite: Any) -> list[Any]:
    return [test for item in suite for test in (_flat(item) if isinstance(item, unittest.TestSuite) else [item])]


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def worker(file: Path, job: dict[str, Any], out: Path) -> int:
    """Runs the tests of ``file`` that ``job`` asks for; ``out`` gets a JSON object a line."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    os.chdir(file.parent)
    sys.path.insert(0, str(file.parent))
    sys.argv = [str(file)]
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    match = re.compile(job["match"])
    tests = [test for test in _flat(unittest.defaultTestLoader.loadTestsFromModule(module)) if match.search(test.id())]
    if job["only"] is not None:
        tests = [test for test in tests if _name(test) in set(job["only"])]
    else:
        tests = tests[:: job["every"]][job["index"] :: job["of"]]
    over = set(job["over"])
    with out.open("a") as stream:
        unittest.TestSuite(test for test in tests if _name(test) not in over).run(_Result(stream))
        stream.write('{"finished": true}\n')
        stream.flush()
    os._exit(0)  # what a test left running is not waited for


# ---- the parent ----------------------------------------------------------------------------------------------------


def run_shard(
    shard: Shard, options: argparse.Namespace, only: list[str] | None = None, device: str = "cuda"
) -> list[Outcome]:
    """Runs a shard to its end, over crashes and time-outs."""
    outcomes: dict[str, Outcome] = {}
    environment = {**os.environ, "PYTORCH_TESTING_DEVICE_ONLY_FOR": device, "OMP_NUM_THREADS": "1"}
    python = [sys.executable, "-P"]
    if device == "cuda":
        python += ["-m", "devsan", "run", "--gpus", options.gpus, "--memory", options.memory, "--format", "off"]
    else:
        environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        while True:
            out, job, log = (Path(folder) / name for name in ("out", "job", "log"))
            out.write_text("")
            wanted = {"match": options.match if device == "cuda" else "", "only": only, "every": options.every,
                      "index": shard.index, "of": shard.of, "over": list(outcomes)}  # fmt: skip
            job.write_text(json.dumps(wanted))
            with log.open("w") as stream:
                process = subprocess.Popen(
                    [*python, __file__, "--worker", str(job), "--write", str(out), str(shard.file)],
                    stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=environment, start_new_session=True,
                )  # fmt: skip
                reason = _watch(process, out, options.limit)
            started, finished = None, False
            for line in map(json.loads, out.read_text().splitlines()):
                finished = finished or "finished" in line
                started = line.get("start", started)
                if "end" in line:  # a test of several parts ends as its first bad part did
                    before = outcomes.get(line["end"])
                    if before is None or before.outcome not in BAD:
                        outcomes[line["end"]] = Outcome(line["end"], line["outcome"], line["text"])
            if finished:
                return list(outcomes.values())
            tail = log.read_text(errors="replace").strip().splitlines()[-3:]
            if started is None or started in outcomes:  # not in a test: the file cannot be run, or Python's end failed
                outcomes[f"<{shard.file.name}>"] = Outcome(f"<{shard.file.name}>", "crashed", " | ".join(tail))
                return list(outcomes.values())
            outcomes[started] = Outcome(
                started, reason, f"exit code {process.returncode}" if reason == "crashed" else ""
            )


def _watch(process: subprocess.Popen[bytes], out: Path, limit: float) -> str:
    """Waits for the process's end, or ends it when no line came for ``limit`` seconds; an import has ten limits."""
    size, since = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(0.2)
        now = out.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > (limit if size else 10 * limit):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return "timeout"
    return "crashed"


def read_known(path: Path) -> list[tuple[str, str]]:
    """Returns (pattern of file::Class.test, reason) of each line."""
    lines = [line.split(None, 1) for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]
    return [(pattern, reason) for pattern, reason in lines]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", type=Path, help="the folder test/ of a checkout of PyTorch")
    parser.add_argument("--file", action="append", help="a test file, relative to that folder; may be repeated")
    parser.add_argument("--match", default="(?i)cuda|gpu", help="regular expression of the tests' names")
    parser.add_argument("--every", type=int, default=1, help="run only every N-th test")
    parser.add_argument("--gpus", default="2", help="as in devsan run")
    parser.add_argument("--memory", default="4GiB", help="as in devsan run; tests that need more skip themselves")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one test")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--against-cpu", action="store_true", help="run what failed on plain CPU too")
    parser.add_argument("--list", type=Path, help="write every failure, with its error, to this file")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.tests, json.loads(options.worker.read_text()), options.write)

    known, unknown = read_known(KNOWN) if KNOWN.exists() else [], 0
    print(f"{'file':38}{'passed':>8}{'failed':>8}{'skipped':>8}{'crashed':>8}{'timeout':>8}{'known':>8}{'on cpu':>8}")
    for name in options.file or []:
        file = (options.tests / name).resolve()
        shards = [Shard(file, index, options.jobs) for index in range(options.jobs)]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            outcomes = [each for part in pool.map(lambda shard: run_shard(shard, options), shards) for each in part]
        bad = [each for each in outcomes if each.outcome in BAD]
        on_cpu = set()
        if options.against_cpu and bad:
            names = [each.name.replace("CUDA", "CPU").replace("cuda", "cpu") for each in bad]
            on_cpu = {each.name for each in run_shard(Shard(file, 0, 1), options, names, "cpu") if each.outcome in BAD}
        reasons = {
            each.name: next((why for glob, why in known if fnmatch.fnmatchcase(f"{name}::{each.name}", glob)), "")
            for each in bad
        }
        unknown += sum(not reason for reason in reasons.values())
        count = collections.Counter(each.outcome for each in outcomes)
        figures = [count[key] for key in ("passed", "failed", "skipped", "crashed", "timeout")]
        figures += [sum(map(bool, reasons.values())), len(on_cpu)]
        print(f"{name:38}" + "".join(f"{figure:>8}" for figure in figures), flush=True)
        if options.list:
            with options.list.open("a") as stream:
                for each in bad:
                    cpu = each.name.replace("CUDA", "CPU").replace("cuda", "cpu") in on_cpu
                    mark = "known" if reasons[each.name] else "cpu" if cpu else "new"
                    stream.write(f"{mark} {each.outcome} {name}::{each.name}  {each.text}\n")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
