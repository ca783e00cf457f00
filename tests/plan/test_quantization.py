"""``devsan plan``: weights in fewer bits, for what transformers loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import programs
import pytest

from devsan.blocks.request import Answer
from devsan.plan import wording

LOAD = """
import tempfile
import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(num_hidden_layers=6, dtype="bfloat16")
with tempfile.TemporaryDirectory() as folder:
    config.save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder, device_map="cuda")
with torch.no_grad():
    model(torch.ones(1, 64, dtype=torch.long, device="cuda"))
"""
"""2.8 GiB of weights, which take 1.6 GiB in 8 bits, and 2 GiB while they are loaded."""


def levers(tmp_path: Path, text: str, memory: str) -> list[dict[str, Any]]:
    tmp_path.joinpath("load.py").write_text(text, encoding="utf-8")
    done = programs.run(["-m", "devsan", "plan", "--gpus", "1", "--memory", memory, "--json", "load.py"], cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    return [each for each in json.loads(done.stdout)["levers"] if each["what"] == "quantization"]


@pytest.mark.long
@pytest.mark.parametrize(("memory", "bits"), [("2800MiB", [8]), ("2400MiB", [8, 4])])
def test_weights_in_fewer_bits_are_rehearsed(tmp_path: Path, memory: str, bits: list[int]) -> None:
    pytest.importorskip("accelerate")
    pytest.importorskip("bitsandbytes", reason="bitsandbytes (125 MB) is installed by hand")
    tried = levers(tmp_path, LOAD, memory)
    assert [each["value"] for each in tried] == bits
    assert [each["fits"] for each in tried] == [False] * (len(bits) - 1) + [True], tried
    assert 1 << 30 < tried[-1]["peaks"]["cuda:0"] < 2300 << 20


@pytest.mark.parametrize(
    ("state", "trains", "gradients", "reason"),
    [
        ("off", False, 0, ""),
        ("off", True, 4, ""),  # adapters
        ("off", True, 90, "the weights themselves are trained; quantized ones take adapters only"),
        ("missing", False, 0, "bitsandbytes is not installed"),
        ("missing", True, 90, "the weights themselves are trained; quantized ones take adapters only"),
        ("on", False, 0, "it is on"),
        ("", False, 0, "no model is loaded by from_pretrained of transformers"),
    ],
)
def test_why_they_are_not_tried(state: str, trains: bool, gradients: int, reason: str) -> None:
    measured = Mock(trains=trains, blocks=[Mock(parameters=100, gradients=gradients)])
    assert wording.no_quantization(Answer(quantization=state), measured) == reason
