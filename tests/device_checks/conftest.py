from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devsan import emulate

sys.path.insert(0, str(Path(__file__).parent))  # for the package `matrix` and the module `sentences`


@pytest.fixture(scope="module", autouse=True)
def four_gpus() -> Iterator[None]:
    with emulate(gpus=4):
        yield
