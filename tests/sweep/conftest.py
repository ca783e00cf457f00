"""What the tests of ``devsan sweep`` share: files of sweeps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.sweep.definition import Definition, read_definition


@pytest.fixture
def sweep(tmp_path: Path) -> Callable[[str], Definition]:
    """Writes a sweep file, beside a program, and reads it."""

    def written(text: str) -> Definition:
        tmp_path.joinpath("train.py").touch()
        tmp_path.joinpath("sweep.toml").write_text(text, encoding="utf-8")
        return read_definition(str(tmp_path / "sweep.toml"))

    return written
