"""What the examples train under emulation equals plain CPU: losses, gradients, updated weights.

To the last bit where both have the same kernels.
"""

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


# Attention in float32 whose keys have fewer heads than its queries is a composite on CUDA, and one kernel on the CPU.
OTHER_KERNELS = {"glm4_finetune.py --fix"}


def same(expected: Any, got: Any, bits: bool) -> bool:
    if expected.dtype != got.dtype:
        return False
    return torch.equal(expected, got) if bits else torch.allclose(expected, got, rtol=1e-5, atol=1e-5)


def differing_weights(plain: dict[str, Any], emulated: dict[str, Any], bits: bool) -> list[str]:
    assert plain["weights"].keys() == emulated["weights"].keys()
    return [name for name, weight in plain["weights"].items() if not same(weight, emulated["weights"][name], bits)]


def differing_gradients(plain: dict[str, Any], emulated: dict[str, Any], bits: bool) -> list[tuple[int, int]]:
    differing = []
    for step, (before, after) in enumerate(zip(plain["gradients"], emulated["gradients"], strict=True)):
        for index, (expected, got) in enumerate(zip(before, after, strict=True)):
            if not same(expected, got, bits):
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
    bits = example not in OTHER_KERNELS
    assert emulated["losses"] == (plain["losses"] if bits else pytest.approx(plain["losses"], rel=1e-6))
    assert not differing_gradients(plain, emulated, bits)
    assert not differing_weights(plain, emulated, bits)
