"""``devsan fix`` that is interrupted shows what has been tried so far."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

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


def test_what_was_tried_is_shown(tmp_path: Path):
    tmp_path.joinpath("train.py").write_text(PROGRAM, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "devsan", "fix", "--gpus", "2", "--jobs", "1", "--lang", "en", "train.py"], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "experiment 2" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted; no file was changed" in err
    assert "operands of aten::add are on cuda:0 and cuda:1" in out and "tried:" in out


def test_what_was_verified_is_kept(tmp_path: Path):
    tmp_path.joinpath("train.py").write_text(SHORT, encoding="utf-8")
    command = [sys.executable, "-m", "devsan", "fix", "--gpus", "2", "--jobs", "1", "--lang", "en", "--all"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = subprocess.Popen(
        [*command, "train.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "experiment 5" in line:
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130 and "verified" in out
    taken = subprocess.run(
        [*command, "--diff", "train.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    assert "the fix that a search has verified" in taken.stderr and taken.stdout.startswith("--- ")
