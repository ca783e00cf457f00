"""Where a fix is kept, and when it is taken."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from devsan.fix.job import Job
from devsan.fix.kept import KeptFix, file_of, keep, kept_in
from devsan.fix.patch import FilePatch
from devsan.options import Options

FIX = KeptFix(("move `x`",), "--- a/train.py\n", (FilePatch("train.py", b"x\xe9\r\n", b"y\n", "latin-1"),))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_bytes(FIX.patches[0].before)
    return tmp_path / "cache"


def name(job: Job, how: Sequence[str] = (), text: str = "import torch\n") -> str:
    return file_of(job, how, (text,)).name


def test_a_fix_is_kept_as_it_is(cache: Path):
    file = file_of(Job(Options(), ("train.py",)), (), ())
    assert kept_in(file) is None
    keep(FIX, file)
    found = kept_in(file)
    assert found is not None and replace(found, seconds=0.0) == FIX and 0 <= found.seconds < 60
    assert file.is_relative_to(cache) and file.stat().st_mode & 0o077 == 0


def test_what_the_search_has_seen_is_in_the_name(tmp_path: Path):
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    job = Job(Options(), ("train.py", "config.json"))
    names = [name(job), name(job, ("20",)), name(job, text="import os\n"),
             name(replace(job, words=("train.py", "config.json", "--lr"))), name(replace(job, folder="/elsewhere")),
             name(replace(job, options=Options(policy="warn"))),
             name(replace(job, environment={**job.environment, "SEED": "1"}))]  # fmt: skip
    (tmp_path / "config.json").write_text("{ }", encoding="utf-8")
    names.append(name(job))
    assert len(set(names)) == len(names)
    assert name(job) == names[-1] == name(replace(job, environment={**job.environment, "SHLVL": "7"}))


def test_a_fix_of_a_file_that_has_changed_is_none(tmp_path: Path):
    file = file_of(Job(Options(), ("train.py",)), (), ())
    keep(FIX, file)
    (tmp_path / "train.py").write_bytes(FIX.patches[0].after)
    assert kept_in(file) is None


def test_an_old_or_broken_one_is_none():
    file = file_of(Job(Options(), ("train.py",)), (), ())
    keep(FIX, file)
    os.utime(file, (time.time() + 100,) * 2)  # the clock was set back
    assert kept_in(file) is None
    os.utime(file, (time.time() - 3700,) * 2)
    assert kept_in(file) is None
    other = file.with_name("other.json")
    keep(FIX, other)
    assert not file.exists() and other.exists()
    for text in ("", "[]", '{"patches": [1]}', '{"patches": [], "texts": null}'):
        other.write_text(text, encoding="utf-8")
        assert kept_in(other) is None


def test_a_cache_that_cannot_be_written_is_none(cache: Path):
    cache.write_text("no folder", encoding="utf-8")
    file = file_of(Job(Options(), ("train.py",)), (), ())
    keep(FIX, file)
    assert kept_in(file) is None
