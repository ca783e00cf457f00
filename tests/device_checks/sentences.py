"""Torch's sentences about mixed devices, and the tensors that provoke them.

Where a sentence comes from: TensorIterator (aten/src/ATen/TensorIterator.cpp), the check that torchgen writes into each
CUDA wrapper (c10::impl::common_device_check_failure), or the kernel that is named beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

A, B = "cuda:0", "cuda:1"
Case = Callable[[], Any]


def ones(*shape: int, on: str = "cpu") -> torch.Tensor:
    return torch.ones(*shape, device=on)


def longs(*values: int, on: str = "cpu") -> torch.Tensor:
    return torch.tensor(values, dtype=torch.long, device=on)


def scalar(on: str = "cpu") -> torch.Tensor:
    return torch.tensor(1.0, device=on)


def two(first: str, second: str) -> str:
    """TensorIterator's sentence: the common device, then the first operand that is elsewhere."""
    return f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}!"


def offending(argument: str, on: str, others: str, method: str, key: str = "CUDA") -> str:
    """The generated check's sentence: the first argument that is not where those before it are."""
    return (
        f"Expected all tensors to be on the same device, but got {argument} is on {on}, different from other tensors "
        f"on {others} (when checking argument in method wrapper_{key}_{method})"
    )


def out_on(expected: str, got: str) -> str:
    """at::native::resize_out, for operators that size their output before they look at anything else."""
    return f"Expected out tensor to have device {expected}, but got {got} instead"


def row(name: str, call: Case, message: str) -> Any:
    return pytest.param(call, message, id=name)


def check(call: Case, message: str) -> None:
    """The call raises, in exactly these words."""
    with pytest.raises(RuntimeError) as failure:
        call()
    assert str(failure.value) == message
