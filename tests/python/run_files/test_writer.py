"""The thread that writes a run file while the program goes on."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import devsan
from devsan.run_files.writer import RunWriter


@pytest.mark.parametrize(("failures", "written"), [(2, True), (100, False)])
def test_a_look_that_fails_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failures: int, written: bool
) -> None:
    with devsan.emulate(gpus=1):
        writer = RunWriter(True, str(tmp_path / "run.dvs"), time.time(), dict, list, lazily=False)
        assert writer._movement is not None
        fetch, calls = writer._movement.fetch, list[int]()

        def failing() -> Any:
            calls.append(1)
            if len(calls) <= failures:
                raise RuntimeError("dictionary changed size during iteration")
            return fetch()

        monkeypatch.setattr(writer._movement, "fetch", failing)
        torch.ones(3).to("cuda")
        deadline = time.monotonic() + 30
        while len(calls) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        writer._thread.join(0 if written else 30)
        writer.finish(dict, list)
    lines = [json.loads(line)["record"] for line in (tmp_path / "run.dvs").read_text().splitlines()]
    assert ("place" in lines and lines[-1] == "end") == written
    assert ("the run is no longer recorded: dictionary changed size" in capsys.readouterr().err) != written
