"""Programs in processes of their own that need not import torch, which takes longer than most programs do.

``run`` takes the place of ``subprocess.run``, and ``start`` that of ``subprocess.Popen``, for a program of Python's: a
server (programs_server.py), started at the first call, has imported torch, and forks. What a program sees of its start
is what python would show it, with two differences: torch, most of DevSan and the libraries named are there already, and
no module is taken apart at the end. So a test of how DevSan starts beside torch, or without it, runs python itself.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# What most programs about models of transformers import.
TRANSFORMERS = (
    "accelerate", "transformers.trainer", "transformers.models.llama.modeling_llama",
    "transformers.models.glm4.modeling_glm4",
)  # fmt: skip

_SERVER = Path(__file__).with_name("programs_server.py")


class Program:
    """A program that was started, with what of ``subprocess.Popen`` the tests ask; its output is kept in files.

    Attributes:
        pid: its process.
        returncode: how it ended; None while it runs.
    """

    def __init__(self, words: Sequence[str], pid: int, folder: tempfile.TemporaryDirectory[str]) -> None:
        self.words = words
        self.pid = pid
        self.returncode: int | None = None
        self._folder = folder

    def poll(self) -> int | None:
        """Returns how it ended; None while it runs."""
        ended = Path(self._folder.name, "code")
        if self.returncode is None and ended.exists():
            self.returncode = int(ended.read_text())
        return self.returncode

    def communicate(self, timeout: float = 300) -> tuple[str, str]:
        """Waits for its end; returns what it wrote on stdout and stderr.

        Raises:
            subprocess.TimeoutExpired: it takes longer than ``timeout`` seconds, and goes on.
        """
        until, pause = time.monotonic() + timeout, 0.002
        while self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(list(self.words), timeout, *self._written())
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return self._written()

    def kill(self) -> None:
        """Kills it, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def _written(self) -> tuple[str, str]:
        out, err = (Path(self._folder.name, name).read_text(encoding="utf-8") for name in ("out", "err"))
        return out, err


def start(
    words: Sequence[str | Path], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None,
    libraries: tuple[str, ...] = (),
) -> Program:  # fmt: skip
    """Starts ``python <words>``: a script, ``-m module`` or ``-c code``, and its arguments.

    Args:
        words: behind ``python``.
        cwd: where it runs; here without.
        env: its environment; this one without.
        libraries: modules that may have been imported already; those that are not installed are left out.
    """
    server = _server(libraries)
    assert server.stdin is not None and server.stdout is not None
    folder = tempfile.TemporaryDirectory()
    request = {
        "words": list(map(str, words)), "cwd": str(cwd or os.getcwd()), "folder": folder.name,
        "env": dict(os.environ if env is None else env),
    }  # fmt: skip
    print(json.dumps(request), file=server.stdin, flush=True)
    answer = server.stdout.readline()
    assert answer, f"expected {_SERVER.name} to answer, got its end"
    return Program(request["words"], int(answer), folder)


def run(
    words: Sequence[str | Path], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None,
    timeout: float = 300, libraries: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Runs ``python <words>`` to its end: see ``start``.

    Raises:
        subprocess.TimeoutExpired: it took longer than ``timeout`` seconds, and was killed.
    """
    program = start(words, cwd=cwd, env=env, libraries=libraries)
    try:
        out, err = program.communicate(timeout)
    finally:
        program.kill()
    return subprocess.CompletedProcess(program.words, program.returncode, out, err)


def free_port() -> str:
    """Returns a port of this machine that nobody listens on, for MASTER_PORT."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@functools.cache
def _server(libraries: tuple[str, ...]) -> subprocess.Popen[str]:
    """The server of this process that has imported these libraries; they end together."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("DEVSAN", "CUDA_"))}
    server = subprocess.Popen(
        [sys.executable, str(_SERVER), *libraries], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**environment, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    atexit.register(server.communicate)  # which closes its stdin first
    return server
