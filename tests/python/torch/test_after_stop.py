"""Tensors that outlive their emulation: they print, and can be computed with."""

from __future__ import annotations

import pytest
import torch

from devsan.emulation import Emulation

# docs/limits.md: printing and ones_like make new tensors, which are the driver's again.
pytestmark = pytest.mark.skipif(torch.version.cuda is not None, reason="CUDA builds need a driver for new tensors")


@pytest.fixture
def left(two_gpus: Emulation) -> dict[str, torch.Tensor]:
    """Tensors of an emulation that has ended."""
    if two_gpus._surface is None:
        two_gpus.start()
    t = torch.arange(4.0, device="cuda:1") / 3
    tensors = {
        "floats": t,
        "parameter": torch.nn.Parameter(t.clone()),
        "result": t.clone().requires_grad_() * 2,
        "half": t.half(),
        "complex": t.cfloat(),
        "integers": torch.arange(4, device="cuda:1"),
        "zero-dim": t[1],
        "long": torch.ones(5000, device="cuda:1"),
        "sparse": t.to_sparse(),
    }
    two_gpus.stop()
    return tensors


def test_printing(left: dict[str, torch.Tensor]) -> None:
    assert repr(left["floats"]) == "tensor([0.0000, 0.3333, 0.6667, 1.0000], device='cuda:1')"
    for tensor in left.values():
        assert "device='cuda:1'" in repr(tensor) and "cuda:1" in str([tensor])


def test_computing(left: dict[str, torch.Tensor]) -> None:
    doubled = left["floats"] + torch.ones_like(left["floats"])
    assert str(doubled.device) == "cuda:1"
    assert doubled.cpu().tolist() == pytest.approx([1, 4 / 3, 5 / 3, 2])
    assert not torch.cuda.is_available()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(3, device="cuda:1")
