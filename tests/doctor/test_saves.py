"""Scripts that write a sharded model's weights themselves: told, unless somebody gathers them."""

from __future__ import annotations

import pytest

ENGINE = """\
import deepspeed, torch

engine, optimizer, _, scheduler = deepspeed.initialize(model=model, config="ds_config.json")
"""
ACCELERATE = """\
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model, optimizer = accelerator.prepare(model, optimizer)
plain = accelerator.unwrap_model(model)
"""
TRAINER = """\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

arguments = TrainingArguments(output_dir="out", bf16=True, deepspeed="ds_config.json")
trainer = Trainer(model, arguments)
trainer.train()
"""


@pytest.mark.parametrize(
    ("script", "save", "line", "fix"),
    [
        (ENGINE, "torch.save(engine.module.state_dict(), 'm.pt')", 4, "save_16bit_model"),
        (ENGINE, "torch.save(model.state_dict(), 'm.pt')", 4, "save_16bit_model"),
        (ENGINE, "state = {'model': engine.state_dict(), 'step': 3}\ntorch.save(state, 'm.pt')", 4, "save_16bit_model"),
        (ENGINE, "engine.module.save_pretrained('out')", 4, "save_16bit_model"),
        (ENGINE, "from safetensors.torch import save_file\nsave_file(model.state_dict(), 'm')", 5, "save_16bit_model"),
        (TRAINER, "model.save_pretrained('out')", 6, "the trainer's save_model"),
        (TRAINER, "torch.save(trainer.model.state_dict(), 'm.pt')", 6, "the trainer's save_model"),
        (ACCELERATE, "torch.save(plain.state_dict(), 'm.pt')", 7, "accelerator.get_state_dict(model)"),
        (ACCELERATE, "accelerator.unwrap_model(model).save_pretrained('out')", 7, "pass state_dict="),
    ],
)
def test_a_save_past_the_engine(deepspeed, script, save, line, fix):
    deepspeed.write("train.py", script + save + "\n")
    (finding,) = (each for each in deepspeed.findings() if each.code == "DV415")
    assert (finding.place.file.rpartition("/")[2], finding.place.line) == ("train.py", line)
    assert fix in finding.fixes[0].text


@pytest.mark.parametrize(
    ("script", "save"),
    [
        (ENGINE, "torch.save(optimizer.state_dict(), 'o.pt'); torch.save(scheduler.state_dict(), 's.pt')"),
        (ENGINE, "engine.save_checkpoint('out'); engine.save_16bit_model('out')"),
        (
            ENGINE,
            "with deepspeed.zero.GatheredParameters(model.parameters()):\n    torch.save(model.state_dict(), 'm')",
        ),
        (ENGINE, "probe.load_state_dict(model.state_dict())"),
        (ENGINE, "tokenizer.save_pretrained('out')"),
        (TRAINER, "trainer.save_model('out')"),
        (ACCELERATE, "plain.save_pretrained('out', state_dict=accelerator.get_state_dict(model))"),
        (ACCELERATE, "torch.save(accelerator.get_state_dict(model), 'm.pt')"),
    ],
)
def test_a_save_that_is_gathered_or_of_something_else(deepspeed, script, save):
    deepspeed.write("train.py", script + save + "\n")
    assert [each.title for each in deepspeed.findings() if each.code == "DV415"] == []


def test_stage_2_keeps_whole_parameters(deepspeed, changed):
    deepspeed.write("ds_config.json", changed({"zero_optimization.stage": 2, "zero_optimization.offload_param": ...}))
    deepspeed.write("train.py", ENGINE + "torch.save(model.state_dict(), 'm.pt')\n")
    assert [each.title for each in deepspeed.findings() if each.code == "DV415"] == []


def test_saving_by_the_engine_needs_the_setting(deepspeed, changed):
    deepspeed.write("ds_config.json", changed({"zero_optimization.stage3_gather_16bit_weights_on_model_save": False}))
    deepspeed.write("train.py", ENGINE + "engine.save_16bit_model('out')\n")
    (finding,) = (each for each in deepspeed.findings() if each.code == "DV415")
    assert "save_16bit_model then writes nothing, and returns False." in finding.evidence
