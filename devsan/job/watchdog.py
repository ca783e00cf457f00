"""``python -m devsan.job.watchdog``: speaks for the owner of a job whom a signal ends that nobody can catch.

A launcher in whose process DevSan works (a script that starts its ranks itself, ``python -m torch.distributed.run``)
can be killed like any other, and so can ``devsan run``; Lightning's launcher kills itself when one of its ranks has
failed. This process stands aside from the first rank on, in a session of its own, until the owner ends. Where that has
not closed the job, it is closed here.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time

from devsan.job import folder
from devsan.job.exit_watcher import ExitWatcher

_started = ""  # for which job

_PAUSE = 1000  # milliseconds: should the descriptor of the owner tell nothing
_RANKS_END = 40.0  # seconds: torchrun gives its ranks 30 after SIGTERM


def start(path: str, options: str) -> None:
    """Starts the watchdog of this process's job, once. Failing to costs nothing but it.

    It is no child of this process: a program that waits for all of its children must not wait for it.

    Args:
        path: the job's folder.
        options: of the job, as ``DEVSAN_OPTIONS`` has them.
    """
    global _started
    if _started == path:
        return
    _started = path
    with contextlib.suppress(OSError):
        environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        words = [sys.executable, "-c", f"import sys; sys.path.insert(0, {home!r}); "
                 "from devsan.job.watchdog import main; main(*sys.argv[1:])", path, options]  # fmt: skip
        subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         start_new_session=True)  # fmt: skip


def main(path: str, options: str) -> None:
    """Waits for the owner of the job in ``path``, and closes the job where it has not.

    Args:
        path: the job's folder.
        options: of the job, as ``DEVSAN_OPTIONS`` has them.
    """
    owner = folder.owner_of(path)
    if owner is None:
        return
    # Named before the owner goes on: without a living owner, another job would remove the folder as one left behind.
    if (pid := os.fork()) != 0:
        folder.leave_to(path, pid)
        return
    try:
        file = os.pidfd_open(owner[0])
    except (OSError, AttributeError):
        return
    poll = select.poll()
    poll.register(file, select.POLLIN)
    watcher = ExitWatcher(path)
    watcher.start()
    while folder.is_alive(*owner) and not poll.poll(_PAUSE):
        pass
    if not os.path.isdir(path):  # as it should be
        return
    until = time.monotonic() + _RANKS_END
    while time.monotonic() < until and watcher.is_watching():
        time.sleep(0.05)
    try:
        # Hardly ever needed, and this process waits as long as the job runs.
        from devsan.job import finalize
        from devsan.options import read_variable

        finalize.close(path, watcher, read_variable(options))
    finally:
        folder.remove(path)
