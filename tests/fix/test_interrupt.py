"""``devsan fix`` that is interrupted shows what has been tried so far."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import torch
x = torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")
y = torch.ones(2, device="cuda:0") * torch.ones(2, device="cuda:1")
print((x + y).sum())
"""

SHORT = """
import torch
x = torch.ones(2, device="cuda:0")
y = torch.full((2,), 3.0, device="cuda:1")
print((x + y).sum())
"""


COMMAND = (sys.executable, "-m", "devsan", "fix", "--gpus", "2", "--jobs", "1", "--lang", "en")


def interrupted(folder: Path, text: str, experiment: int, *options: str) -> tuple[str, str]:
    """Stops the search for a fix of a program when an experiment begins; returns what it wrote to stdout and stderr."""
    folder.joinpath("train.py").write_text(text, encoding="utf-8")
    process = subprocess.Popen(
        [*COMMAND, *options, "train.py"], cwd=folder, env=environment(folder), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if f"experiment {experiment}" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    return out, err


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}


def test_what_was_tried_is_shown(tmp_path: Path):
    out, err = interrupted(tmp_path, PROGRAM, 2)
    assert "interrupted; no file was changed" in err
    assert "operands of aten::add are on cuda:0 and cuda:1" in out and "tried:" in out


@pytest.mark.long
def test_what_was_verified_is_kept(tmp_path: Path):
    out, _ = interrupted(tmp_path, SHORT, 5, "--all")
    assert "verified" in out
    taken = subprocess.run(
        [*COMMAND, "--all", "--diff", "train.py"], cwd=tmp_path, env=environment(tmp_path), capture_output=True,
        text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "the fix that a search has verified" in taken.stderr and taken.stdout.startswith("--- ")
