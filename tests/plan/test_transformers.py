"""``devsan plan`` of programs that place a model of transformers by a library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import programs
import pytest

pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytestmark = pytest.mark.long

TRAINER = """
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

config = LlamaConfig(hidden_size=1024, intermediate_size=2752, num_hidden_layers=12, num_attention_heads=8,
                     vocab_size=4000)
data = [{"input_ids": torch.zeros(128).long(), "labels": torch.zeros(128).long()} for _ in range(16)]
settings = TrainingArguments("out", per_device_train_batch_size=4, max_steps=2, report_to=[], save_strategy="no")
Trainer(LlamaForCausalLM(config), settings, train_dataset=data).train()
"""
PREPARE = """
import torch
from accelerate import Accelerator
from transformers import GPT2Config, GPT2LMHeadModel

accelerator = Accelerator()
model = GPT2LMHeadModel(GPT2Config(n_embd=1024, n_layer=12, n_head=8, vocab_size=8000))
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader([torch.zeros(128).long() for _ in range(8)], batch_size=2)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
model.train()
for batch in loader:
    accelerator.backward(model(batch, labels=batch).loss)
    optimizer.step()
    optimizer.zero_grad()
"""
GENERATE = """
import tempfile
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(num_hidden_layers=6)
with tempfile.TemporaryDirectory() as folder:
    config.save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder, device_map="auto")
print(model.hf_device_map)
model.generate(torch.randint(4000, (2, 300), device="cuda"), max_new_tokens=8)
"""


def plan(tmp_path: Path, text: str, memory: str) -> dict[str, Any]:
    tmp_path.joinpath("train.py").write_text(text, encoding="utf-8")
    words = ["-m", "devsan", "plan", "--gpus", "2", "--memory", memory, "--json", "train.py"]
    done = programs.run(words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["planned"]["fits"], found["planned"]["reason"]
    return found


def test_trainer_is_told_the_map(tmp_path: Path) -> None:
    found = plan(tmp_path, TRAINER, "1800MiB")
    assert not found["as_it_is"]["fits"]
    placed = found["planned"]["placement"]["device_map"]
    assert set(placed.values()) == {0, 1}
    assert placed["lm_head"] == placed["model.embed_tokens"] == 0
    assert found["planned"]["transferred"] > 0


def test_tied_weights_are_counted_once_and_stay_together(tmp_path: Path) -> None:
    found = plan(tmp_path, PREPARE, "2400MiB")
    blocks = {block["path"]: block for block in found["measured"]["blocks"]}
    assert [block["gradients"] for block in blocks.values()] == [block["parameters"] for block in blocks.values()]
    assert blocks["lm_head"]["is_pinned"]
    assert blocks["transformer.wte"]["is_pinned"]
    assert found["planned"]["placement"]["device_map"]["lm_head"] == 0


def test_a_map_of_from_pretrained_is_replaced(tmp_path: Path) -> None:
    found = plan(tmp_path, GENERATE, "5GiB")
    assert found["measured"]["passes"] == 8
    assert found["planned"]["transferred"] < found["as_it_is"]["transferred"]
