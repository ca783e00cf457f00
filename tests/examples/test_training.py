"""What the examples train under emulation equals plain CPU to the last bit: losses, gradients, updated weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch

# What is trained on the GPUs named. NOTE [Clipping over several GPUs] torch.nn.utils.clip_grad_norm_ adds up the norms
# of the gradients device by device, so the sum, and the factor that every gradient is multiplied with, may differ in
# the last bit between one device and several. That is torch's own order and a real machine has it too; to compare like
# with like, clipping is on where one GPU is used and off where several are.
TRAINED = {
    "model_parallel.py": (4, {"cuda:0", "cuda:1"}),
    "data_parallel.py": (1, {"cuda:0"}),  # several: test_data_parallel.py
    "llama_trainer.py": (1, {"cuda:0"}),
    "llama_trainer.py --max_grad_norm 0": (4, {"cuda:0", "cuda:1", "cuda:2"}),
    "glm4_finetune.py --fix": (4, {"cuda:1", "cuda:2", "cuda:3"}),
    "lightning_gpu.py": (4, {"cuda:0"}),
}


def same(expected: Any, got: Any) -> bool:
    return torch.equal(expected, got) and expected.dtype == got.dtype


def differing_weights(plain: dict[str, Any], emulated: dict[str, Any]) -> list[str]:
    assert plain["weights"].keys() == emulated["weights"].keys()
    return [name for name, weight in plain["weights"].items() if not same(weight, emulated["weights"][name])]


def differing_gradients(plain: dict[str, Any], emulated: dict[str, Any]) -> list[tuple[int, int]]:
    differing = []
    for step, (before, after) in enumerate(zip(plain["gradients"], emulated["gradients"], strict=True)):
        for index, (expected, got) in enumerate(zip(before, after, strict=True)):
            if not same(expected, got):
                differing.append((step, index))
    return differing


@pytest.mark.parametrize("example", TRAINED)
def test_trains_as_on_cpu(recorder, example):
    gpus, devices = TRAINED[example]
    script, *words = example.split()
    # Lightning refuses accelerator="gpu" on the machine that the CPU run is on; the script takes another.
    [plain] = recorder.on_cpu(script, *(["cpu"] if "lightning" in script else [" ".join(words)]))
    [emulated] = recorder.on_gpus(script, " ".join(words), gpus=str(gpus))

    assert plain["trained_on"] == {"cpu"}
    assert emulated["trained_on"] == devices
    assert len(plain["losses"]) > 1
    assert len(plain["gradients"]) == len(plain["losses"])
    assert all(plain["gradients"])
    assert emulated["losses"] == plain["losses"]
    assert not differing_gradients(plain, emulated)
    assert not differing_weights(plain, emulated)
