"""What bitsandbytes places beside a weight that the program moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

bitsandbytes = pytest.importorskip("bitsandbytes", reason="bitsandbytes (125 MB) is installed by hand")


def test_a_quantized_weight_is_placed_by_who_moves_it(told: Callable[[Any], Any]) -> None:
    layer = bitsandbytes.nn.Linear4bit(16, 64, quant_type="nf4", compute_dtype=torch.float32)
    layer = layer.to("cuda:1")
    assert told(layer.weight).who == ("cuda:1", "program", "Module.to", "")
    assert told(layer.weight.quant_state.code).who[:3] == ("cuda:1", "bitsandbytes", "quant state")
    assert told(layer.weight.quant_state.code).line == 'layer = layer.to("cuda:1")'


def test_eight_bits(told: Callable[[Any], Any]) -> None:
    layer = bitsandbytes.nn.Linear8bitLt(16, 16, has_fp16_weights=False)
    layer = layer.to("cuda:1")
    assert told(layer.weight).who == ("cuda:1", "program", "Module.to", "")
    result = layer(torch.ones(2, 16, device="cuda:1", dtype=torch.float16))
    assert str(result.device) == "cuda:1"
