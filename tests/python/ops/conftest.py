from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from devsan import emulate


@pytest.fixture(scope="module", autouse=True)
def four_gpus() -> Iterator[None]:
    """Four GPUs, cuda:0 current, and one thread for torch: what it sums up does not depend on how it is split."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with emulate(gpus=4):
        yield
    torch.set_num_threads(threads)
