"""``devsan fix`` alone takes stories from failing to verified, with the real libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

ROOT = Path(__file__).parents[2]


def fixed(folder: Path, script: str, gpus: int) -> str:
    """What ``devsan fix`` prints of a script that it fixes."""
    environ = {name: text for name, text in os.environ.items() if name != "DEVSAN_OPTIONS"}
    done = subprocess.run(
        [sys.executable, "-m", "devsan", "fix", "--gpus", str(gpus), str(ROOT / script)], cwd=folder, text=True,
        env={**environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "DEVSAN_LANG": "en"}, capture_output=True,
        timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.long
def test_glm4(tmp_path: Path):
    out = " ".join(fixed(tmp_path, "examples/glm4_finetune.py", 4).split())
    assert "fixed: move `shift_labels` to the device of `shift_logits` before they are combined" in out
    assert "error[DV104]" in out
