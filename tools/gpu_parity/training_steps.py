"""What the measured programs share: a few steps of training, and their figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

Figures = dict[str, int]
BF16 = torch.bfloat16


def figures() -> Figures:
    torch.cuda.synchronize()
    return {
        "peak allocated": torch.cuda.max_memory_allocated(),
        "peak reserved": torch.cuda.max_memory_reserved(),
        "kept": torch.cuda.memory_allocated(),
    }


def steps(parameters: Iterable[nn.Parameter], step: Callable[[], Tensor], count: int = 3, **options: Any) -> Figures:
    optimizer = torch.optim.AdamW([p for p in parameters if p.requires_grad], lr=1e-5, **options)
    for _ in range(count):
        step().backward()
        optimizer.step()
        optimizer.zero_grad()
    return figures()


def tokens(rows: int, length: int, words: int = 30000) -> Tensor:
    return torch.randint(words, (rows, length)).to("cuda")
