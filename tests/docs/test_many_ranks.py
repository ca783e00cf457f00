"""docs/guide/many-ranks.md shows what a launched job prints."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "many-ranks.md"
_TAKES = re.compile(r"\d+\.\d s later")
_WAITS = re.compile(r"^ +=.* rank 0 waits in .*\n(?: {4,}[^=\s].*\n)*", re.MULTILINE)  # with its continuation


def block(language: str) -> str:
    [found] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return str(found)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def timeless(report: str) -> str:
    """The report without what depends on how fast rank 0 is: whether it waits already, and for how long."""
    return _WAITS.sub("", _TAKES.sub("a moment later", report))


@pytest.mark.long
def test_the_report_on_two_ranks(tmp_path: Path) -> None:
    tmp_path.joinpath("train.py").write_text(block("python"), encoding="utf-8")
    words = block("console").removeprefix("$ devsan ").split()
    environment = {
        **os.environ, "NO_COLOR": "1", "DEVSAN_LANG": "en", "OMP_NUM_THREADS": "1",
        "PET_MASTER_PORT": str(free_port()),  # another launch on this machine has torchrun's default
        "PET_MONITOR_INTERVAL": "4",  # torchrun must not end rank 0 before it has noticed by itself
        "PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "devsan", *words], cwd=tmp_path, env=environment, capture_output=True,
                          text=True, timeout=100, check=False)  # fmt: skip
    assert done.returncode == 1
    launcher, shown, report = done.stderr.partition("\nerror[")
    assert shown and "ChildFailedError" in launcher
    assert timeless("error[" + report) == timeless(block("text"))
