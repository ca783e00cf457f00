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


def test_a_tensor_goes_to_the_device_of_another_instead_of_the_current_gpu(fixed: Ended):
    assert fixed(
        """
import torch
from torch.autograd.graph import saved_tensors_hooks

def pack(kept):
    return torch.device("cuda", torch.cuda.current_device()), kept.to("cpu", copy=True)

def unpack(packed):
    device, kept = packed
    return kept.to(device)

weight = torch.ones(3, device="cuda:1", requires_grad=True)
with saved_tensors_hooks(pack, unpack):
    loss = (weight * torch.full((3,), 2.0, device="cuda:1")).exp().sum()
loss.backward()
""",
        gpus=2,
    ) == ['return kept.device, kept.to("cpu", copy=True)']
