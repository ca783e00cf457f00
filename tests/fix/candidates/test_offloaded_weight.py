"""A weight that accelerate keeps on the host is read where it is brought in."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Ended = Callable[..., list[str]]


@pytest.mark.parametrize("read", ["hidden * model[0].bias", "hidden * kept"])
def test_a_weight_that_is_read_outside_of_its_forward(ended: Ended, read: str):
    pytest.importorskip("accelerate")
    lines = ended(f"""
import torch
from accelerate import cpu_offload

model = torch.nn.Sequential(torch.nn.Linear(4, 4))
cpu_offload(model, execution_device=torch.device("cuda:0"))

def scale(hidden):
    kept = model[0].bias
    return {read}

print(scale(model(torch.ones(2, 4, device="cuda:0"))).sum())
""")
    assert "from accelerate.utils import align_module_device" in lines
    assert "with align_module_device(model[0]):" in lines
