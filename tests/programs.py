"""Programs in processes of their own that need not import torch, which takes longer than most programs do.

``run`` takes the place of ``subprocess.run`` for a program of Python's: a server (programs_server.py), started at the
first call, has imported torch, and forks. What a program sees of its start is what python would show it; that torch
and the core are there already is the one difference. So a test of how DevSan starts beside torch, or without it, runs
python itself.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_SERVER = Path(__file__).with_name("programs_server.py")


def run(
    words: Sequence[str | Path], *, cwd: str | Path | None = None, env: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Runs ``python <words>``: a script, ``-m module`` or ``-c code``, and its arguments; keeps its output.

    Raises:
        subprocess.TimeoutExpired: the program took longer than ``timeout`` seconds, and was killed.
    """
    server = _server()
    assert server.stdin is not None and server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        request = {
            "words": [str(word) for word in words], "cwd": str(cwd or os.getcwd()), "folder": folder,
            "env": dict(os.environ if env is None else env), "seconds": timeout,
        }  # fmt: skip
        print(json.dumps(request), file=server.stdin, flush=True)
        answer = server.stdout.readline()
        assert answer, f"expected {_SERVER.name} to answer, got its end"
        out, err = (Path(folder, name).read_bytes().decode() for name in ("out", "err"))
    code = json.loads(answer)
    if code is None:
        raise subprocess.TimeoutExpired(list(map(str, words)), timeout, out, err)
    return subprocess.CompletedProcess(list(words), code, out, err)


@functools.cache
def _server() -> subprocess.Popen[str]:
    """The server of this process, with which it ends."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("DEVSAN", "CUDA_"))}
    server = subprocess.Popen(
        [sys.executable, "-P", str(_SERVER)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**environment, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    atexit.register(server.communicate)  # which closes its stdin first
    return server
