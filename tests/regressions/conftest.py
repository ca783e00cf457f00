"""The cases import their tiny models by name, and the tests what a case expects."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def fresh_models() -> Iterator[None]:
    yield
    sys.modules.pop("tiny", None)
