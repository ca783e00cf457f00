"""The operands of measured calls, and what a list of calls is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

Rows = Iterator[tuple[str, Callable[[], Callable[[], Any]]]]
"""Titles, and what makes a call with its operands."""


def tensor(*shape: int, dtype: str = "float32", grad: bool = True, last: bool = False) -> Any:
    """Random numbers on the GPU, made on the CPU."""
    made = torch.randn(shape).to("cuda", getattr(torch, dtype))
    if last:
        made = made.to(memory_format=torch.channels_last)
    return made.requires_grad_(grad)


def whole(below: int, *shape: int) -> Any:
    """Random whole numbers."""
    return torch.randint(below, shape).to("cuda")


def filled(value: int, *shape: int) -> Any:
    """The same whole number everywhere."""
    return torch.full(shape, value).to("cuda")
