from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.utils._device import _device_constructors

from devsan import emulate

sys.path.insert(0, str(Path(__file__).parent))  # for the package `conformance`


@pytest.fixture(scope="module", autouse=True)
def four_gpus() -> Iterator[None]:
    """Four GPUs, cuda:0 current, and one thread for torch: what it sums up does not depend on how it is split.

    ``with torch.device(...)`` remembers torch's factories when it is first used. Where that was while transformers had
    another ``torch.linspace`` in its place (transformers/initialization.py, meta_device_safe_creation_ops), torch's own
    is none of them in this process.
    """
    _device_constructors.cache_clear()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with emulate(gpus=4):
        yield
    torch.set_num_threads(threads)
