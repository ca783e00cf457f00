"""A kernel finds its tensors on the current device."""

from __future__ import annotations

from collections.abc import Callable

Ended = Callable[..., list[str]]


def test_a_kernel_is_launched_with_the_device_of_its_tensor(ended: Ended):
    assert ended(
        """
import torch

def kernel(x):
    if x.device.index != torch.cuda.current_device():
        raise ValueError("Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)")

def scan(hidden):
    kernel(hidden)
    return hidden * 2

print(scan(torch.ones(3, device="cuda:1")).sum())
""",
        gpus=2,
    ) == ["with torch.cuda.device(hidden.device):", "kernel(hidden)"]
