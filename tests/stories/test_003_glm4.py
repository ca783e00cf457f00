"""Seed 003: GLM-4's own loss on several GPUs. Labels arrive on the first GPU of the map, logits leave the last one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import programs
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "glm4_finetune.py"


def run(folder: Path, *words: str, gpus: str = "4") -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name != "DEVSAN_OPTIONS"}
    return programs.run(
        ["-m", "devsan", "run", "--gpus", gpus, EXAMPLE, *words],
        cwd=folder,
        env={**environment, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        libraries=programs.TRANSFORMERS,
    )


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    return run(tmp_path_factory.mktemp("glm4"))


def test_dies_with_torchs_sentence(failed):
    assert failed.returncode == 1
    expected = (
        "RuntimeError: Expected all tensors to be on the same device, but got target is on cuda:1, "
        "different from other tensors on cuda:3 (when checking argument in method wrapper_CUDA_nll_loss_forward)"
    )
    assert expected in failed.stderr.splitlines()
    assert "losses" not in failed.stdout


def test_dies_in_the_line_of_the_loss(failed):
    source = EXAMPLE.read_text(encoding="utf-8").splitlines()
    [line] = [number for number, text in enumerate(source, 1) if text.lstrip().startswith("loss = loss_fct(")]
    assert f'{EXAMPLE}", line {line}, in forward' in failed.stderr


def test_report_names_both_operands(failed):
    report = failed.stderr.split("RuntimeError: ")[1]
    for word in ("nll_loss", "shift_logits.view", "shift_labels.view", "cuda:3", "cuda:1", "glm4_finetune.py:"):
        assert word in report


def test_report_says_who_placed_them_and_what_to_change(rehearse):
    died = rehearse(EXAMPLE.name, gpus=4)
    assert died.report.startswith("\nerror[DV104]: operands of aten::nll_loss_forward are on cuda:3 and cuda:1\n")
    assert "shift_labels int64[2,11] placed on cuda:1 by accelerate: AlignDevicesHook" in died.prose
    assert "shift_logits float32[2,11,256] placed on cuda:3" in died.prose
    assert "help: move `shift_labels` to the device of `shift_logits` before they are combined" in died.prose
    mended = rehearse(EXAMPLE.name, gpus=4, text=died.mended())
    assert mended.sentence == ""
    assert "losses [" in mended.out


def test_fixed_it_trains_through(tmp_path):
    done = run(tmp_path, "--fix")
    assert done.returncode == 0, done.stderr
    assert "losses" in done.stdout


def test_passes_where_one_gpu_holds_it_all(tmp_path):
    # GPU 0 is someone else's: of two, the whole model goes to the second, and the fault does not show.
    done = run(tmp_path, gpus="2")
    assert done.returncode == 0, done.stderr
