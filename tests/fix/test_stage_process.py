"""The stage: what a caller may do with a fork as soon as it knows its id."""

from __future__ import annotations

import os

import pytest

from devsan.fix.run_processes import stop_group
from devsan.fix.stage_process import StageProcess


@pytest.fixture
def stage():
    started = StageProcess(dict(os.environ))
    yield started
    started.close()


def test_a_fork_leads_a_group_before_its_id_is_told(stage, tmp_path):
    request = {
        "words": ["devsan", "--version"], "folder": str(tmp_path), "scratch": str(tmp_path / "scratch"),
        "environment": dict(os.environ), "out": str(tmp_path / "out"), "err": str(tmp_path / "err"),
    }  # fmt: skip
    for _ in range(20):
        pid = stage.start(request)
        assert os.getpgid(pid) == pid
        stop_group(pid)
        assert stage.wait(pid, 30) is not None
