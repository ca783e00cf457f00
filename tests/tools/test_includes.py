"""Every source of the core includes what it uses, which a build of many files together does not show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WITHOUT_TORCH = ("diagnose", "memory", "model", "order", "plan", "record")
"""The libraries that compile in seconds. torch's headers, which the others include, bring nearly everything."""


@pytest.mark.long
@pytest.mark.rare  # the build compiles each header alone
@pytest.mark.parametrize("library", WITHOUT_TORCH)
def test_each_source_compiles_alone(library: str, tmp_path: Path):
    generate = [sys.executable, str(ROOT / "tools/generate_codes.py"), "--out", str(tmp_path / "diagnose")]
    subprocess.run(generate, check=True)
    sources = sorted((ROOT / "core" / library).rglob("*.cpp"))
    assert sources
    compiler = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'core'}", f"-I{tmp_path}"]
    errors = [
        done.stderr for source in sources
        if (done := subprocess.run([*compiler, str(source)], capture_output=True, text=True)).returncode != 0
    ]  # fmt: skip
    assert not errors, "\n".join(errors)
