"""A job's folder stays as long as somebody is to report on the job, and no longer."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from devsan.job import finalize, folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]) as process:
        yield process
        process.kill()


def made_by_the_killed() -> str:
    """A folder whose owner is gone without having removed it."""
    program = (
        "import sys, tempfile; tempfile.tempdir = sys.argv[1]; from devsan.job import folder; print(folder.make())"
    )
    words = [sys.executable, "-c", program, tempfile.gettempdir()]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def test_what_a_killed_owner_left_is_removed_by_the_next_job():
    left = made_by_the_killed()
    assert os.path.isdir(left) and not folder.has_living_owner(left)
    mine = folder.make()
    assert not os.path.exists(left)
    assert os.path.isdir(mine) and folder.has_living_owner(mine)


def test_another_job_leaves_it_to_the_watchdog_of_the_killed(sleeping):
    left = made_by_the_killed()
    folder.leave_to(left, sleeping.pid)
    folder.make()
    assert folder.has_living_owner(left), "it is about to report"

    sleeping.kill()
    sleeping.wait()
    folder.make()
    assert not os.path.exists(left)


def test_a_folder_without_an_owner_is_removed_when_it_is_old(tmp_path):
    young, old = tmp_path / "devsan-job-young", tmp_path / "devsan-job-old"
    for path in (young, old):
        path.mkdir()
    os.utime(old, (0, 0))
    folder.make()
    assert young.is_dir() and not old.exists()


def test_what_is_shown_counts_where_the_report_goes_to_the_same_place(tmp_path):
    """A launcher may send the stderr of its ranks to files (torchrun --redirects), a notebook its own."""
    path = folder.make()
    folder.note_shown(path, "Expected \u8bef\u5dee")
    with os.fdopen(os.dup(2), "w") as same, open(tmp_path / "other", "w") as other:
        assert folder.shown_where(path, same) == ["Expected \u8bef\u5dee"]
        assert folder.shown_where(path, other) == folder.shown_where(path, io.StringIO()) == []
        finalize.forget_documents(path)
        assert folder.shown_where(path, same) == []
        folder.remove(path)
        folder.note_shown(path, "nobody is left to ask")
        assert folder.shown_where(path, same) == []
