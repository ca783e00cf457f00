"""Seed 002: ZeRO-3 with offload in DeepSpeed 0.14.2, which clips gradients of the host by a norm of the GPU.

Three releases, as they were published (tools/seeds.txt), each in a process of its own; programs/old_deepspeed.py says
what they miss in today's torch and numpy.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import programs
import pytest

PROGRAM = Path(__file__).parent / "programs" / "minicpm_zero3_offload.py"
SEEDS = Path(sys.prefix, "seeds")
SENTENCE = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
LINE = "self.fp32_partitioned_groups_flat[sub_group_id].grad.mul_(1. / combined_scale)"

pytestmark = pytest.mark.skipif(
    any(not (SEEDS / f"deepspeed-0.14.{patch}").is_dir() for patch in (0, 2, 3)),
    reason="deepspeed 0.14.0, 0.14.2 and 0.14.3 are not among the environment's seeds (tools/setup.sh test)",
)


def train(folder: Path, *clips: str) -> tuple[int, str, str]:
    """Trains on one GPU with the DeepSpeed of a folder. Returns the exit code, what it printed, the report's prose."""
    environment = os.environ | {
        "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": programs.free_port(),
        "OMP_NUM_THREADS": "1", "DEVSAN_LANG": "en", "DEVSAN_OPTIONS": "", "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH")))),
    }  # fmt: skip
    environment.pop("DS_ACCELERATOR", None)
    run = programs.run(["-m", "devsan", "run", "--gpus", "1", PROGRAM, *clips], cwd=folder, env=environment)
    printed = [line for line in run.stdout.splitlines() if line.startswith("deepspeed ")]
    return run.returncode, "\n".join(printed), " ".join(run.stderr.replace("[rank0]:", "").split())


def test_a_step_fails_once_its_norm_exceeds_the_limit() -> None:
    code, out, report = train(SEEDS / "deepspeed-0.14.2", "1000", "0.01")
    assert out == "deepspeed 0.14.2, clip 1000.0: losses [4.17, 3.93]"  # latent, until a gradient is clipped
    assert code == 1
    assert 'stage3.py", line 2117, in unscale_and_clip_grads' in report
    assert f"RuntimeError: {SENTENCE}" in report

    assert "error[DV114]: operands of aten::mul_ are on cuda:0 and cpu" in report
    assert "--> deepspeed/runtime/zero/stage3.py:2117:9" in report and LINE in report
    assert (
        "self.fp32_partitioned_groups_flat[sub_group_id].grad float32[5152] placed on cpu by deepspeed: ZeRO-3"
        in report
    )
    assert "-> offload_optimizer.device = cpu" in report
    assert "combined_scale float32[] placed on cuda:0 by deepspeed: ZeRO-3" in report
    assert "DeepSpeed 0.14.2 has this defect: releases 0.14.1 and 0.14.2, and no other." in report
    assert "exceeds deepspeed.gradient_clipping = 0.01" in report
    assert "help: install deepspeed 0.14.3 or later (or 0.14.0) (certain)" in report
    assert "or: multiply by the value, (1. / combined_scale).item()" in report


# 0.14.3 is the release to install; 0.14.0 has the same line.
@pytest.mark.long
@pytest.mark.parametrize("release", ["0.14.0", "0.14.3"])
def test_the_releases_around_it_train(release: str) -> None:
    code, out, report = train(SEEDS / f"deepspeed-{release}", "0.01")
    assert (code, out) == (0, f"deepspeed {release}, clip 0.01: losses [4.17, 3.93]"), report
    assert "error[" not in report


@pytest.mark.long
def test_so_does_the_defective_one_with_the_value(tmp_path: Path) -> None:
    shutil.copytree(SEEDS / "deepspeed-0.14.2", tmp_path, dirs_exist_ok=True)
    source = tmp_path / "deepspeed" / "runtime" / "zero" / "stage3.py"
    text = source.read_text(encoding="utf-8")
    assert text.count("mul_(1. / combined_scale)") == 1
    source.write_text(text.replace("mul_(1. / combined_scale)", "mul_((1. / combined_scale).item())"), encoding="utf-8")
    code, out, report = train(tmp_path, "0.01")
    assert (code, out) == (0, "deepspeed 0.14.2, clip 0.01: losses [4.17, 3.93]"), report
