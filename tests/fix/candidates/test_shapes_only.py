"""Modules that have only shapes get values."""

from __future__ import annotations

from collections.abc import Callable

Ended = Callable[..., list[str]]


def test_a_module_of_the_meta_device_is_made_where_its_inputs_are(ended: Ended):
    (line,) = ended("""
import torch

first = torch.nn.Linear(4, 4, device="cuda")
second = torch.nn.Linear(4, 2, device="meta")
print(second(first(torch.randn(2, 4, device="cuda"))).sum())
""")
    assert line.startswith("second = torch.nn.Linear(4, 2, device=") and "meta" not in line
