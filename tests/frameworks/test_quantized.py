"""QLoRA with bitsandbytes: its portable kernels run on emulated GPUs, and mixed devices in them are refused.

CUDA's kernels take addresses and compare no devices, so that on a GPU the same can be anything from a wrong number to a
crash. bitsandbytes (125 MB) is not among the test requirements: `pip install bitsandbytes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

bitsandbytes = pytest.importorskip("bitsandbytes", reason="bitsandbytes (125 MB) is installed by hand")

EIGHT, FOUR = "bitsandbytes_cases:eight_bits", "bitsandbytes_cases:four_bits"


@pytest.mark.frameworks
def test_adapters_over_quantized_weights(equal: Callable[..., None]) -> None:
    # The update of bitsandbytes' AdamW has a kernel of its own on the CPU, which rounds elsewhere.
    equal([FOUR, EIGHT], {EIGHT: 1e-6}, gpus=2)


def refused(layer: torch.nn.Module, x: torch.Tensor) -> str:
    with pytest.raises(RuntimeError) as error:
        layer(x)
    return str(error.value)


def test_a_weight_whose_state_stayed_behind_is_refused() -> None:
    """Module.to of what holds the layer moves the weight's data, and not its scales (004's second way)."""
    import devsan

    with devsan.emulate(gpus=2):
        layer: Any = bitsandbytes.nn.Linear8bitLt(16, 16, has_fp16_weights=False).to("cuda:0")
        model = torch.nn.Sequential(layer)
        model.to("cuda:1")
        said = refused(model, torch.ones(2, 16, device="cuda:1", dtype=torch.float16))
        assert "cuda:0" in said and "cuda:1" in said, said


def test_an_input_of_another_gpu_is_refused() -> None:
    import devsan

    with devsan.emulate(gpus=2):
        four = bitsandbytes.nn.Linear4bit(64, 32, quant_type="nf4", compute_dtype=torch.float32).to("cuda:0")
        said = refused(four, torch.ones(2, 64, device="cuda:1"))
        assert "cuda:0" in said and "cuda:1" in said
        optimizer = bitsandbytes.optim.AdamW8bit([torch.nn.Parameter(torch.ones(5000, device="cuda:0"))])
        [parameter] = optimizer.param_groups[0]["params"]
        parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        optimizer.state[parameter]["absmax1"] = optimizer.state[parameter]["absmax1"].to("cuda:1")
        parameter.grad = torch.ones_like(parameter)
        with pytest.raises(RuntimeError) as error:
            optimizer.step()
        assert "Input tensors need to be on the same GPU" in str(error.value)  # its own check
