"""What a function remembers for later calls is remembered for each device."""

from __future__ import annotations

from collections.abc import Callable

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


def test_the_device_becomes_a_part_of_the_key(fixed: Fixed):
    assert fixed(PROGRAM.format(look=NAMED, key="key"), gpus=2) == ['key = ("rows", size, device)']


def test_a_copy_in_one_line_is_preferred_to_a_key_in_three(fixed: Fixed):
    lines = fixed(PROGRAM.format(look=WRITTEN, key="size"), gpus=2)
    assert lines == ["return x * table(x.shape[-1], x.device).to(x.device)"]
