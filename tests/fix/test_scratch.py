"""What an experiment writes below its folder is thrown away; what it reads there is what is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LOOK = """
import os, pathlib, sys
here = pathlib.Path.cwd()
assert here == pathlib.Path(sys.argv[1]), here
assert here.joinpath("weights").read_text() == "old"
here.joinpath("weights").write_text("new")
here.joinpath("checkpoints").mkdir()
here.joinpath("checkpoints", "last").write_text("1")
here.joinpath("log").unlink()
print(sorted(each.name for each in here.iterdir()), here.joinpath("weights").read_text())
"""


def run(folder: Path, scratch: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "devsan.fix.scratch", str(folder), str(scratch), sys.executable, *words],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "job"
    made.mkdir()
    made.joinpath("weights").write_text("old")
    made.joinpath("log").write_text("")
    return made


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    made = tmp_path / "scratch"
    made.mkdir()
    return made


def test_writes_are_thrown_away(folder: Path, scratch: Path, tmp_path: Path):
    try_it = tmp_path / "try"
    try_it.mkdir()
    probe = "import sys; from devsan.fix.scratch import enter; sys.exit(not enter(*sys.argv[1:]))"
    if subprocess.run([sys.executable, "-c", probe, str(folder), str(try_it)]).returncode != 0:
        pytest.skip("this system allows no overlay in a user namespace")
    done = run(folder, scratch, "-c", LOOK, str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['checkpoints', 'weights'] new\n"
    assert folder.joinpath("weights").read_text() == "old"
    assert sorted(each.name for each in folder.iterdir()) == ["log", "weights"]


def test_folder_that_overlayfs_cannot_name_is_left_alone(tmp_path: Path, scratch: Path):
    folder = tmp_path / "a,b"
    folder.mkdir()
    done = run(folder, scratch, "-c", "import os; print(os.getcwd()); open('written', 'w').close()")
    assert done.stdout == f"{folder}\n"
    assert folder.joinpath("written").exists()


def test_exit_code_is_the_commands(folder: Path, scratch: Path):
    assert run(folder, scratch, "-c", "raise SystemExit(7)").returncode == 7
