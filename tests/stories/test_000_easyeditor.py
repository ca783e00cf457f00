"""Seed 000 whole: the modules that EasyEdit published (zjunlp/EasyEdit#419), on one, two and four GPUs."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

NAME = "easyeditor_memit.py"
PUBLISHED = Path(sys.prefix, "seeds", "easyeditor-0.0.1.dev0")

pytestmark = pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason=f"easyeditor 0.0.1.dev0 is not in {PUBLISHED.name} of the environment's seeds"
)

# The upstream fix (zjunlp/EasyEdit#681) in three parts: the vector where the layer is that it edits, one device to
# solve on, the update where the weight is. Each is a file, what is there, what is put in its place.
FIX = (
    (
        "compute_z.py",
        'delta = torch.zeros((model.config.n_embd,), requires_grad=True, device=f"cuda:{hparams.device}")',
        "delta = torch.zeros((model.config.n_embd,), requires_grad=True, device=next("
        "nethook.get_module(model, hparams.layer_module_tmp.format(layer)).parameters()).device)",
    ),
    ("memit_main.py", "layer_ks.double(),", "layer_ks.double().to(cov.device),"),
    ("memit_main.py", "targets.double(),", "targets.double().to(cov.device),"),
    ("memit_main.py", "+ upd_matrix.float()", "+ upd_matrix.float().to(weights[weight_name].device)"),
    ("memit_main.py", "w[...] += upd_matrix.float()", "w[...] += upd_matrix.float().to(w.device)"),
)

# Of scenario 000, in the order in which one would meet them; 183 and 209 and 225 stand behind 181, 210 and 57.
SITES = {
    ("compute_z.py", 104), ("compute_z.py", 160), ("compute_z.py", 181), ("compute_z.py", 183), ("compute_z.py", 185),
    ("memit_main.py", 214), ("memit_main.py", 210), ("memit_main.py", 209), ("memit_main.py", 225),
    ("memit_main.py", 57),
}  # fmt: skip


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the fix."""
    folder = tmp_path_factory.mktemp("fixed")
    shutil.copytree(PUBLISHED / "easyeditor", folder / "easyeditor")
    for file, before, after in FIX:
        path = folder / "easyeditor" / "models" / "memit" / file
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, (file, before)
        path.write_text(text.replace(before, after), encoding="utf-8")
    return folder


def test_on_two_gpus_it_passes_by_luck(rehearse):
    one = rehearse(NAME, PUBLISHED, gpus=1)
    assert len(one.out.splitlines()) == 5
    assert rehearse(NAME, PUBLISHED, gpus=2).out == one.out


def test_on_four_it_dies_in_the_sentence_of_the_article(rehearse):
    run = rehearse(NAME, PUBLISHED, gpus=4)
    assert run.sentence == (
        "Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!"
    )
    assert "error[DV101]: operands of aten::add_ are on cuda:1 and cuda:0" in run.report
    assert "delta float32[64] placed on cuda:0 by this program" in run.prose
    assert 'device_map["transformer.h.2"] = 1' in run.report
    assert 'one device value, `f"cuda:{hparams.device}"`, at compute_z.py:84' in run.prose


def test_one_run_shows_every_site_as_one_cause(rehearse):
    run = rehearse(NAME, PUBLISHED, gpus=4, policy="warn")
    assert run.sentence == ""
    assert re.findall(r"^warning\[(\w+)\]", run.report, re.MULTILINE) == ["DV101"]
    summary = run.report[run.report.index("devsan: the program continued after mismatches") :]
    assert f"at {len(SITES)} places with 1 cause (policy=warn)" in summary
    found = re.findall(r"/(\w+\.py):(\d+):\d+ ", summary)
    assert {(file, int(line)) for file, line in found} == SITES
    # The operands met, so the edit is that of one GPU, to the last digit.
    assert run.out == rehearse(NAME, PUBLISHED, gpus=1).out


def test_the_fix_passes_with_the_result_of_one_gpu(rehearse, fixed):
    assert rehearse(NAME, fixed, gpus=4).out == rehearse(NAME, PUBLISHED, gpus=1).out


@pytest.mark.long
def test_the_fix_holds_where_the_layers_are_on_three_gpus(rehearse, fixed):
    layers = "1,4,6,8"
    broken = rehearse(NAME, PUBLISHED, layers, gpus=4)
    assert "cuda:2 and cuda:0" in broken.sentence
    mended = rehearse(NAME, fixed, layers, gpus=4)
    assert (mended.sentence, mended.report) == ("", "")
    assert mended.out == rehearse(NAME, PUBLISHED, layers, gpus=1).out
