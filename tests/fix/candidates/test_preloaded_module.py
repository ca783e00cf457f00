"""A module that computes with a child's offloaded weights is loaded as a whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Ended = Callable[..., list[str]]


@pytest.mark.long
def test_the_call_that_offloads_names_the_class(ended: Ended):
    pytest.importorskip("accelerate")
    assert ended("""
import torch
from accelerate import cpu_offload

torch.manual_seed(0)
mix = torch.nn.MultiheadAttention(8, 2)
cpu_offload(mix, execution_device=torch.device("cuda:0"))
x = torch.rand(3, 1, 8, device="cuda:0")
with torch.no_grad():
    print(mix(x, x, x, need_weights=False)[0].sum().item())
""") == ['cpu_offload(mix, execution_device=torch.device("cuda:0"), preload_module_classes=["MultiheadAttention"])']
