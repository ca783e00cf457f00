from __future__ import annotations

from collections.abc import Iterator

import pytest

from devsan import emulate


@pytest.fixture(scope="module", autouse=True)
def two_gpus() -> Iterator[None]:
    """Two A100s, cuda:0 current; the tests compute on cuda:1."""
    with emulate(gpus=["a100-80g"] * 2):
        yield
