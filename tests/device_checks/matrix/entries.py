"""The words in which calls are written by hand."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten
Entry = tuple[Any, tuple[Any, ...], dict[str, Any]]


def rand(*shape: int) -> torch.Tensor:
    return torch.rand(*shape) + 0.1


def longs(*values: int) -> torch.Tensor:
    return torch.tensor(values)


def entry(op: Any, *args: Any, **kwargs: Any) -> Entry:
    return op, args, kwargs
