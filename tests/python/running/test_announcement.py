"""How long a process stays visible."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devsan.job import folder as job
from devsan.running import announcement, folder, steps


@pytest.fixture
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Announces this process, and returns where it is seen."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("XDG_RUNTIME_DIR", job.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for name, value in (("_core", None), ("_machine", ()), ("_path", "")):
        monkeypatch.setattr(announcement, name, value)
    for name in ("begin", "end"):
        monkeypatch.setattr(steps, name, lambda *_: None)

    def begin() -> list[tuple[str, str]]:
        announcement.begin(SimpleNamespace(show_memory=lambda path: None), ())  # type: ignore[arg-type]
        return list(folder.announcements())

    yield begin
    announcement.end()


def test_in_a_job_until_its_report_is_made(announced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """``devsan top`` shows a program whose report takes its time, and not one that has ended."""
    path = job.make()
    monkeypatch.setenv(job.VARIABLE, path)
    assert [of_job for of_job, _ in announced()] == [path]
    announcement._at_exit()
    assert [of_job for of_job, _ in folder.announcements()] == [path]
    job.remove(path)
    assert list(folder.announcements()) == [] and not os.path.exists(path)


def test_by_itself_until_it_ends(announced: Any) -> None:
    assert [of_job for of_job, _ in announced()] == [""]
    announcement._at_exit()
    assert list(folder.announcements()) == []
