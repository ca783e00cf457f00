"""What works is clean: no set-up of the frameworks that place models is taken for a fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from live_working import WORKING


@pytest.mark.parametrize("name", WORKING)
def test_nothing_is_wrong(name: str, check: Callable[..., Any]) -> None:
    needs, gpus, text = WORKING[name]
    for library in needs:
        pytest.importorskip(library, reason=f"the set-up is one of {library}, which is not installed")
    assert list(check(text, gpus).found) == []
