"""Reports, and what they were kept as."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from reports import bless, failed, golden, programs, run

__all__ = ["bless", "failed", "golden", "programs", "run"]

sys.path.insert(0, str(Path(__file__).parent))  # for the package `pages`

from pages.chromium import Chromium, find_chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if find_chromium() is None:
        pytest.skip("looking at the page needs Chromium: none is on PATH, and CHROMIUM names none")
    browser = Chromium(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()
