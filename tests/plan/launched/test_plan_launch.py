"""``devsan plan -- launcher``: what cannot be planned, and the script that starts what was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import programs

from devsan.cli import launch_plan
from devsan.plan.launched.configuration import Configuration
from devsan.plan.launched.result import LaunchPlan, Tried
from devsan.plan.launched.strategy import Strategy


def plan(folder: Path, memory: str, *words: str) -> Any:
    libraries = ["-m", "devsan", "plan", "--gpus", "2", "--memory", memory, "-o", "planned", *words]
    return programs.run(libraries, cwd=folder, timeout=1200, env={**os.environ, "COLUMNS": "100"})


def test_what_cannot_be_planned_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import lightning\n")
    done = plan(tmp_path, "1GiB", "--", "torchrun", "--nproc-per-node", "2", "train.py")
    assert done.returncode == 2
    assert "expected a program of Trainer, Accelerator or deepspeed.initialize, got one of Lightning" in done.stderr


def test_the_script_of_a_plan_starts_from_anywhere(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "my job").mkdir()
    monkeypatch.chdir(tmp_path / "my job")
    strategy = Strategy("DDP", 0)
    shown = ("sh", "-c", 'echo "$1 in $(pwd)"; cat "$1"', "x", "{folder}/accelerate.yaml")
    configuration = Configuration(strategy, shown, {"accelerate.yaml": "distributed_type: MULTI_GPU\n"})
    launch_plan._write(LaunchPlan("train.py", (1,), [Tried(configuration, fits=True)]), "planned")
    script = tmp_path / "my job" / "planned" / "launch.sh"
    done = subprocess.run([script], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout == f"planned/accelerate.yaml in {tmp_path / 'my job'}\ndistributed_type: MULTI_GPU\n"
