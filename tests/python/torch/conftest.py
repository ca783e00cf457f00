from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from devsan import emulate
from devsan.emulation import Emulation


@pytest.fixture(scope="module", autouse=True)
def two_gpus() -> Iterator[Emulation]:
    """Two GPUs in this process. cuda:0 is current; the tests work on cuda:1, so that a wrong device shows."""
    with emulate(gpus=2) as emulation:
        yield emulation


@pytest.fixture
def same() -> Callable[..., None]:
    """Compares a result with the CPU's, and its device with the one that CUDA would give."""

    def check(actual: torch.Tensor, expected: torch.Tensor, device: str = "cuda:1") -> None:
        assert str(actual.device) == device
        torch.testing.assert_close(actual.detach().cpu(), expected.detach())

    return check
