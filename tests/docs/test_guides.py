"""What the guides show is what their programs print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guide"


def block(name: str, language: str) -> str:
    """The only code block of that language in the guide."""
    [found] = re.findall(
        rf"^```{language}\n(.*?)^```$", (GUIDES / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return str(found)


def run(name: str, folder: Path, timeout: int = 180) -> subprocess.CompletedProcess[str]:
    """Runs the command of the guide on its program."""
    (folder / "train.py").write_text(block(name, "python"), encoding="utf-8")
    first, *words = block(name, "console").removeprefix("$ devsan ").split()
    quiet = ["-q"] if first == "run" else []  # no closing line, whose time is another each time
    command = [sys.executable, "-m", "devsan", first, *quiet, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)


def test_every_mismatch(tmp_path: Path) -> None:
    name = "every-mismatch.md"
    done = run(name, tmp_path)
    assert (done.returncode, done.stdout) == (0, "loss cuda:1\n")
    assert done.stderr.endswith(block(name, "text"))
    assert "warning[DV101]: operands of aten::mul are on cuda:1 and cuda:0\n   --> train.py:10:14\n" in done.stderr


@pytest.mark.long
def test_fix(tmp_path: Path) -> None:
    name = "fix.md"
    done = run(name, tmp_path, 300)
    assert done.returncode == 0, done.stderr
    assert "error[DV101]: operands of aten::add are on cuda:1 and cuda:0\n   --> train.py:14:" in done.stdout
    assert done.stdout.endswith("\n\n" + block(name, "text"))


def test_streams(tmp_path: Path) -> None:
    name = "streams.md"
    done = run(name, tmp_path)
    assert (done.returncode, done.stdout) == (0, "12.0\n")
    assert done.stderr.strip("\n") + "\n" == block(name, "text")


def test_full_size(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    done = run("full-size.md", tmp_path)
    assert (done.returncode, done.stdout) == (1, "loss 1.00\n"), done.stderr
    assert block("full-size.md", "text") in done.stderr


@pytest.mark.long
@pytest.mark.rare  # six cells, and the search for a fix
def test_sweep(tmp_path: Path) -> None:
    name = "sweep.md"
    (tmp_path / "sweep.toml").write_text(block(name, "toml"), encoding="utf-8")
    done = run(name, tmp_path, 500)
    assert done.returncode == 1, done.stderr
    shown, _, report = done.stdout.partition("\n\nreport of optimizer=SGD gpus=2:\n")
    assert shown + "\n" == "\n" + block(name, "text")
    assert report.startswith("error[DV101]: operands of aten::add are on cuda:1 and cuda:0\n   --> train.py:18:")
