"""What a function remembers for later calls is remembered for each device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]

PROGRAM = """
import torch

TABLES = {{}}

def table(size, device):
{look}
    return TABLES[{key}]

def scaled(x):
    return x * table(x.shape[-1], x.device)

total = 0.0
for gpu in range(2):
    x = torch.randn(2, 3, device=f"cuda:{{gpu}}", requires_grad=True)
    scaled(x).sum().backward()
    total += x.grad.sum().item()
print(total)
"""
NAMED = """\
    key = ("rows", size)
    if key not in TABLES:
        TABLES[key] = torch.arange(size, device=device).float()"""
WRITTEN = """\
    if size not in TABLES:
        TABLES[size] = torch.arange(size, device=device).float()"""


@pytest.mark.parametrize(
    ("look", "key", "lines"),
    [
        (NAMED, "key", ['key = ("rows", size, device)']),
        (
            WRITTEN,
            "size",
            [
                "if (size, device) not in TABLES:",
                "TABLES[(size, device)] = torch.arange(size, device=device).float()",
                "return TABLES[(size, device)]",
            ],
        ),
    ],
)
def test_the_device_becomes_a_part_of_the_key(fixed: Fixed, look: str, key: str, lines: list[str]):
    assert fixed(PROGRAM.format(look=look, key=key), gpus=2) == lines
