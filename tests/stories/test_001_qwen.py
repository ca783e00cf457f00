"""Seed 001, in one process: device_map="auto" while a training engine owns the model. A rank, by its number."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")

NAME = "qwen_two_owners.py"


def test_a_rank_dies_in_the_embedding(rehearse):
    run = rehearse(NAME, "2", gpus=8)
    assert run.sentence == (
        "Expected all tensors to be on the same device, but got index is on cuda:1, different from other tensors on "
        "cuda:2 (when checking argument in method wrapper_CUDA__index_select)"
    )
    assert run.report.startswith("\nerror[DV201]: operands of aten::index_select are on cuda:2 and cuda:1\n")
    assert "is model.model.embed_tokens.weight, placed on cuda:2 by this program" in run.prose
    assert "input_ids int64[2,12] placed on cuda:1 by accelerate: AlignDevicesHook" in run.prose
    assert 'device_map["model.embed_tokens"] = 1' in run.report
    assert "was moved to cuda:2 by this program (Module.to), at qwen_two_owners.py:" in run.prose
    assert "The hook of model.embed_tokens brings its inputs to cuda:1, its weight is on cuda:2." in run.prose
    assert "help: leave out the move of the dispatched model, at qwen_two_owners.py:" in run.prose
    assert "or: load the model without device_map" in run.prose  # the article's


@pytest.mark.long
def test_the_rank_of_the_first_gpu_dies_later_of_the_same_cause(rehearse):
    run = rehearse(NAME, "1", gpus=8)
    assert run.sentence == (
        "Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:2!"
    )
    assert run.report.startswith("\nerror[DV201]: operands of aten::mul are on cuda:1 and cuda:2\n")
    assert "modeling_qwen2.py" in run.report
    assert "layers.1.input_layernorm.weight, placed on cuda:1 by this program" in run.prose
    assert "placed on cuda:2 by accelerate: AlignDevicesHook" in run.prose


@pytest.mark.parametrize("rank", ["1", "2"])
@pytest.mark.long
def test_without_the_map_it_trains(rehearse, rank):
    run = rehearse(NAME, rank, "--fix", gpus=8)
    assert run.sentence == ""
    assert "losses [" in run.out
