from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from devsan import emulate

sys.path.insert(0, str(Path(__file__).parent))  # for the package `conformance`


@pytest.fixture(scope="module", autouse=True)
def four_gpus() -> Iterator[None]:
    """Four GPUs, cuda:0 current, and one thread for torch: what it sums up does not depend on how it is split."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with emulate(gpus=4):
        yield
    torch.set_num_threads(threads)
