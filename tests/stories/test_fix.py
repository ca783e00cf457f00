"""``devsan fix`` alone takes the five stories from failing to verified, with the real libraries.

A verified fix ends the job with the losses, gradients, weights and outputs of one device; what is asserted besides is
which fix that is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import programs
import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "stories" / "programs"
SEEDS = Path(sys.prefix, "seeds")
EASYEDITOR = SEEDS / "easyeditor-0.0.1.dev0"
DEEPSPEED = SEEDS / "deepspeed-0.14.2"

with_deepspeed = pytest.mark.skipif(not DEEPSPEED.is_dir(), reason="deepspeed 0.14.2 is not among the seeds")


def fixed(folder: Path, gpus: int, *words: object, **environ: str) -> str:
    """What ``devsan fix`` prints of a job that it fixes, its line breaks taken out."""
    kept = {name: text for name, text in os.environ.items() if name not in ("DEVSAN_OPTIONS", "DEVSAN_JOB")}
    kept |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder), "OMP_NUM_THREADS": "1", "DEVSAN_LANG": "en", **environ}
    with subprocess.Popen(
        [sys.executable, "-m", "devsan", "fix", "--gpus", str(gpus), *map(str, words)], cwd=folder, text=True, env=kept,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            out, err = process.communicate(timeout=2400)
        except subprocess.TimeoutExpired:
            process.terminate()
            raise
    said = " ".join(out.split())
    assert process.returncode == 0, f"{err[-2000:]}\n{out[-2000:]}"
    assert "= the program runs to its end = equal to one device: losses, gradients and weights of" in said
    return said


def torchrun(ranks: int, *words: object) -> tuple[object, ...]:
    """The words of a job of torchrun."""
    return ("--", sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, *words)


def rank(folder: Path) -> dict[str, str]:
    """The environment of the only rank of a job, with the packages of ``folder`` first."""
    return {
        "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": programs.free_port(),
        "PYTHONPATH": str(folder), "PYTHONWARNINGS": "ignore",
    }  # fmt: skip


@pytest.mark.frameworks
@pytest.mark.skipif(not EASYEDITOR.is_dir(), reason="easyeditor 0.0.1.dev0 is not among the seeds")
def test_easyedit(tmp_path: Path):
    """Ten places, one behind the other: each operand comes to what it is combined with."""
    out = fixed(tmp_path, 4, PROGRAMS / "easyeditor_memit.py", EASYEDITOR)
    assert "fixed: move `delta` to the device of `cur_out[0][i, idx, :]` before they are combined and: " in out
    assert "+ w[...] += upd_matrix.float().to(w.device)" in out


@pytest.mark.long
def test_qwen(tmp_path: Path):
    """One of two owners goes."""
    out = fixed(tmp_path, 8, ROOT / "examples" / "qwen_two_owners.py", 2)
    assert "fixed: leave the placed model where it is: no `model.to(self.args.device)`" in out


@pytest.mark.frameworks
def test_qwen_in_ranks(tmp_path: Path):
    """DDP takes no model over several GPUs, so that the map is what goes; and no library is to be patched."""
    out = fixed(tmp_path, 8, *torchrun(2, PROGRAMS / "qwen_finetune.py"))
    assert "fixed: load the model without a device map: another owner places it" in out
    assert "modeling_qwen2.py:244): " not in out


@pytest.mark.frameworks
@with_deepspeed
def test_minicpm(tmp_path: Path):
    """A scalar comes to the gradient, which is offloaded and stays on the host."""
    out = fixed(tmp_path, 1, PROGRAMS / "minicpm_zero3_offload.py", "0.01", **rank(DEEPSPEED))
    assert ".grad.mul_((1. / combined_scale).to(self.fp32_partitioned_groups_flat[sub_group_id].grad.device))" in out


@pytest.mark.frameworks
@with_deepspeed
def test_minicpm_by_a_patch_of_what_is_installed_in_ranks(tmp_path: Path):
    """DeepSpeed among the libraries is not the user's to change: the fix is a patch for its authors."""
    installed = tmp_path / "site-packages"
    shutil.copytree(DEEPSPEED, installed)
    environ = {"PYTHONPATH": str(installed), "PYTHONWARNINGS": "ignore"}
    out = fixed(tmp_path, 2, *torchrun(2, PROGRAMS / "minicpm_zero3_offload.py", "0.01"), **environ)
    assert ".grad.mul_((1. / combined_scale).to(self.fp32_partitioned_groups_flat[sub_group_id].grad.device))" in out


@pytest.mark.long
def test_glm4(tmp_path: Path):
    out = fixed(tmp_path, 4, ROOT / "examples" / "glm4_finetune.py")
    assert "fixed: move `shift_labels` to the device of `shift_logits` before they are combined" in out
    assert "error[DV104]" in out


@pytest.mark.long
@pytest.mark.rare
def test_lightning(tmp_path: Path):
    """The hooks go with the call that hung them: Lightning, which starts the ranks itself, places the model."""
    pytest.importorskip("lightning")
    out = fixed(tmp_path, 2, PROGRAMS / "lightning_wrapper.py")
    assert "fixed: leave out dispatch_model: another owner places the model" in out
