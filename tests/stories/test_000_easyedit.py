"""Seed 000: EasyEdit's MEMIT on four GPUs. One device value, a map that spreads the model, three causes in a row."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

NAME = "easyedit_memit.py"
TWO_DEVICES = "Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!"


def test_on_two_gpus_it_passes(rehearse):
    # The edited layer is on GPU 0 then, where hparams.device says: luck, no fix.
    assert "edited [1, 2, 3, 4, 5]" in rehearse(NAME, gpus=2).out


def test_on_four_the_vector_is_not_where_its_layer_is(rehearse):
    run = rehearse(NAME, gpus=4)
    assert run.sentence == TWO_DEVICES
    assert run.report.startswith("\nerror[DV101]: operands of aten::add_ are on cuda:1 and cuda:0\n")
    assert "cur_out[0][i, -1, :] += delta" in run.report
    assert "delta float32[64] placed on cuda:0 by this program" in run.prose
    assert "cur_out[0][i, -1, :] float32[64] placed on cuda:1 by accelerate: AlignDevicesHook" in run.prose
    assert 'device_map["transformer.h.2"] = 1' in run.report
    assert 'note: `delta` was put on cuda:0 by one device value, `f"cuda:{hparams.device}"`' in run.prose
    assert "help: create `delta` on the device of `cur_out[0][i, -1, :]`" in run.prose
    assert "+ cur_out[0][i, -1, :] += delta.to(cur_out[0].device)" in run.report  # the article's


def test_the_second_cause_is_the_solve(rehearse):
    run = rehearse(NAME, "delta", gpus=4)
    assert "got mat2 is on cuda:0, different from other tensors on cuda:1" in run.sentence
    assert run.report.startswith("\nerror[DV101]: operands of aten::mm are on cuda:1 and cuda:0\n")
    assert "adj_k float64[256,2] placed on cuda:0 by this program" in run.prose
    assert "resid float64[64,2] placed on cuda:1 by accelerate: AlignDevicesHook" in run.prose
    assert "cov = torch.eye(len(layer_ks)" in run.prose


def test_the_third_is_the_write_back_and_its_edit_mends_it(rehearse):
    run = rehearse(NAME, "delta", "solve", gpus=4)
    assert run.sentence == TWO_DEVICES
    assert run.report.startswith("\nerror[DV101]: ")
    assert "weight float32[64,256] placed on cuda:1 by transformers: from_pretrained" in run.prose
    assert "upd_matrix float32[64,256] placed on cuda:0 by this program" in run.prose
    assert "help: move `upd_matrix` to the device of `weight` before they are combined" in run.prose
    mended = rehearse(NAME, "delta", "solve", gpus=4, text=run.mended())
    assert mended.sentence == ""
    assert "edited [1, 2, 3, 4, 5]" in mended.out


def test_with_the_three_fixes_it_passes(rehearse):
    run = rehearse(NAME, "delta", "solve", "write", gpus=4)
    assert run.sentence == ""
    assert "edited [1, 2, 3, 4, 5]" in run.out
