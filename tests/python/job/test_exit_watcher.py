"""How a rank ended, as seen by a process that is not its parent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from devsan.job import folder
from devsan.job.exit_watcher import ExitWatcher

# A parent that waits a while before it asks, as launchers do.
PARENT = """\
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE)
print(child.pid, flush=True)
sys.stdin.readline()
child.stdin.close()
time.sleep(0.5)
child.wait()
"""


@pytest.mark.parametrize(
    ("end", "code", "signal"),
    [("sys.exit(3)", 3, None), ("os.kill(os.getpid(), 9)", None, 9), ("os._exit(0)", 0, None), ("os.abort()", None, 6)],
)
def test_codes_and_signals(tmp_path, end, code, signal):
    words = [sys.executable, "-c", PARENT, f"import os, sys; sys.stdin.read(); {end}"]
    parent = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
    )
    assert parent.stdin is not None and parent.stdout is not None
    pid = int(parent.stdout.readline())
    tmp_path.joinpath(f"rank0-{pid}.json").write_text(json.dumps({}))
    watcher = ExitWatcher(str(tmp_path))
    watcher.look(0.0)
    assert watcher.is_watching()
    watcher.start()
    before = time.time()
    parent.stdin.write("\n")
    parent.stdin.flush()
    time.sleep(0.2)
    exits = watcher.close(10.0)
    parent.communicate()
    assert (exits[pid].code, exits[pid].signal) == (code, signal)
    assert before <= exits[pid].time <= time.time()


def test_a_process_of_the_same_id_is_not_the_same_process():
    assert folder.is_alive(os.getpid(), folder.started(os.getpid()))
    assert not folder.is_alive(os.getpid(), folder.started(os.getpid()) + 1)
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not folder.is_alive(child.pid, 0), "nobody has waited for it yet"
    child.wait()
    assert not folder.is_alive(child.pid, 0)
