"""``devsan plan -- launcher``: what cannot be planned."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import programs


def plan(folder: Path, memory: str, *words: str) -> Any:
    libraries = ["-m", "devsan", "plan", "--gpus", "2", "--memory", memory, "-o", "planned", *words]
    return programs.run(libraries, cwd=folder, timeout=1200, env={**os.environ, "COLUMNS": "100"})


def test_what_cannot_be_planned_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import lightning\n")
    done = plan(tmp_path, "1GiB", "--", "torchrun", "--nproc-per-node", "2", "train.py")
    assert done.returncode == 2
    assert "expected a program of Trainer, Accelerator or deepspeed.initialize, got one of Lightning" in done.stderr
