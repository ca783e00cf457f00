"""``devsan fix`` that is interrupted shows what has been tried so far."""

from __future__ import annotations

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
