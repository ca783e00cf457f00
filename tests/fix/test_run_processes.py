"""Runs that hang, and processes that leave their group: all is stopped."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from seeded import laboratory, script

from devsan.fix.run_processes import RunProcesses


def running(mark: str) -> list[int]:
    """The processes with ``mark`` among their words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


@pytest.mark.long
def test_a_run_that_computes_nothing_is_stopped_before_its_time(tmp_path):
    script(tmp_path, "import time\ntime.sleep(300)\n")
    with laboratory(tmp_path, "train.py") as found:
        found.idle_seconds = 4.0
        start = time.monotonic()
        outcome = found.run()
    assert outcome.timed_out and not outcome.ended
    assert time.monotonic() - start < 100


LEAVING = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {text!r}], start_new_session=True)
"""


@pytest.mark.long
def test_a_rank_that_nobody_waits_for_ends_with_its_numbers(tmp_path):
    rank = "import time, torch; until = time.time() + 4\nwhile time.time() < until: torch.ones(9).sum()\n"
    rank += "total = torch.ones(7)"
    script(tmp_path, LEAVING.format(text=rank))
    with laboratory(tmp_path, "train.py") as found:
        outcome = found.run()
    assert outcome.ended
    shapes = [each["shape"] for events in outcome.numbers.values() for event in events if event["kind"] == "state"
              for each in event["tensors"]]  # fmt: skip
    assert [7] in shapes


@pytest.mark.long
def test_a_server_that_is_left_behind_is_stopped(tmp_path):
    script(tmp_path, LEAVING.format(text="import time; time.sleep(300)  # left"))
    with laboratory(tmp_path, "train.py") as found:
        start = time.monotonic()
        assert found.run().ended
    assert time.monotonic() - start < 60
    assert running("import time; time.sleep(300)  # left") == []


@pytest.mark.long
def test_the_first_run_says_how_long_the_job_waits_by_nature(tmp_path):
    script(tmp_path, "import time\ntime.sleep(6)\n")
    with laboratory(tmp_path, "train.py") as found:
        assert found.run().ended and found.idle_seconds == 20.0


@pytest.mark.long  # it computes for longer than a hanging run may wait
def test_a_run_that_computes_goes_on(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
    run = RunProcesses(process.pid, "NO_SUCH=variable", most_idle=3.0)

    def ended(seconds: float) -> int | None:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    start = time.monotonic()
    _, stopped = run.wait(ended, 8.0)
    assert stopped and time.monotonic() - start >= 8.0
    run.stop()
    process.wait()


@pytest.mark.long
def test_what_a_script_starts_in_sessions_of_their_own_ends_with_it(tmp_path):
    script(tmp_path, "import subprocess\nsubprocess.Popen(['sleep', '611.5'], start_new_session=True)\n")
    with laboratory(tmp_path, "train.py") as found:
        assert found.run().ended
        assert running("611.5") == []
