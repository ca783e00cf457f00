"""``devsan sweep``: how its words are read, and what comes of real cells."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from devsan.cli.main import main
from devsan.cli.sweep import SweepCommand
from devsan.cli.sweep_progress import SweepProgress
from devsan.errors import UsageError
from devsan.sweep.result import CellResult

PROGRAM = """\
import os, sys, time
how, gpus = sys.argv[1], int(os.environ["COUNT"])
print(how, gpus, flush=True)
if how == "ask":
    sys.exit("no answer" if gpus == 1 else 77)
import torch
assert torch.cuda.device_count() == gpus
first = torch.ones(3, device="cuda:0", requires_grad=True)
last = torch.ones(3, device=f"cuda:{gpus - 1}")
if how == "mixed":
    (first * last).sum().backward()
if how == "bad":
    raise ValueError(f"no {gpus}")
if gpus > 1 and how == "sleep":
    time.sleep(600)
if gpus > 1 and how == "kill":
    os.kill(os.getpid(), 9)
if gpus > 1 and how == "eat":
    torch.ones(1 << 34)
"""
SWEEP = """\
command = "train.py {how}"
timeout = 60
memory = "6GiB"
baseline = { gpus = 1 }
environment = { COUNT = "{gpus}" }
[matrix]
gpus = [2, 3]
how = ["fine", "mixed", "bad"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


def swept(folder: Path, *words: str, code: int = 1) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "devsan", "sweep", "sweep.toml", "--format", "json", *words], cwd=folder,
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def statuses(document: dict[str, Any]) -> dict[str, str]:
    return {cell["name"]: cell["status"] for cell in document["cells"]}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "expected the arguments that devsan sweep --help shows, got"),
        ("none.toml", "expected a sweep file, got 'none.toml': No such file or directory"),
        ("sweep.toml --format sarif", "expected a format (terminal, json, html, junit), got 'sarif'"),
        ("sweep.toml --jobs 0", "expected a number from 1 on, got 0"),
        ("sweep.toml --sample 2", "expected --sample with --fix, got --sample alone"),
        ("sweep.toml --fresh --failed", "not allowed with argument --fresh"),
        ("sweep.toml --only hwo=bad", "got 'hwo=bad'; did you mean how=?"),
    ],
)
def test_words_that_are_not_understood(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, sentence: str
) -> None:
    with pytest.raises(UsageError if words != "none.toml" else Exception) as caught:
        SweepCommand().prepare(shlex.split(words))
    assert sentence in str(caught.value)
    assert main(["sweep", *shlex.split(words)]) == 2
    assert capsys.readouterr().err.startswith("devsan: expected ")
    assert not (folder / "sweep.jsonl").exists()


def test_a_profile_that_is_unknown_loses_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sweep.jsonl").write_text("kept", encoding="utf-8")
    (folder / "sweep.toml").write_text(f"{SWEEP}profile = ['a100']\n", encoding="utf-8")
    assert main(["sweep", "--fresh", "sweep.toml"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "got 'a100'; did you mean a100-80g?" in told
    assert (folder / "sweep.jsonl").read_text(encoding="utf-8") == "kept"


def test_a_sweep_its_groups_and_its_formats(folder: Path) -> None:
    document = swept(folder, "--jobs", "2")
    assert statuses(document) == {
        "gpus=2 how=fine": "passed", "gpus=2 how=mixed": "failed", "gpus=2 how=bad": "skipped",
        "gpus=3 how=fine": "passed", "gpus=3 how=mixed": "failed", "gpus=3 how=bad": "skipped",
    }  # fmt: skip
    [group] = document["groups"]
    assert group["cells"] == ["gpus=2 how=mixed", "gpus=3 how=mixed"] and group["place"] == "train.py:11"
    assert group["finding"]["code"].startswith("DV")
    skipped = document["cells"][2]["reason"]
    assert skipped == "fails with gpus=1, too: ValueError: no 1"

    (folder / "train.py").unlink()  # what is done is not run again
    (folder / "train.py").touch()
    assert statuses(swept(folder)) == statuses(document)
    for words, text in (
        ([], "1. DV"), (["--format", "html"], "<!DOCTYPE html>"), (["--format", "junit"], "<testsuites"),
        (["--lang", "zh"], "6 个单元"),
    ):  # fmt: skip
        assert main(["sweep", "sweep.toml", "-o", "report", "--force", *words]) == 1
        assert text in (folder / "report").read_text(encoding="utf-8")
    assert main(["sweep", "sweep.toml", "-o", "report"]) == 2, "cells are known, and the report is kept"
    assert text in (folder / "report").read_text(encoding="utf-8")
    assert main(["sweep", "sweep.toml", "--format", "junit", "-o", "report.xml"]) == 1
    assert ElementTree.parse(folder / "report.xml").getroot().get("failures") == "2"
    assert main(["sweep", "sweep.toml", "--only", "how=fine", "-o", "report", "--force"]) == 0
    assert statuses(swept(folder, "--fresh", code=0))["gpus=2 how=mixed"] == "passed", "the program is empty now"


@pytest.mark.long
def test_cells_at_their_limits(folder: Path) -> None:
    text = SWEEP.replace("60", "10").replace('"fine", "mixed", "bad"', '"ask", "sleep", "kill", "eat"')
    (folder / "sweep.toml").write_text(text.replace("[2, 3]", "[2]"), encoding="utf-8")
    document = swept(folder, "--jobs", "1")
    found = {cell["name"]: (cell["status"], cell["reason"]) for cell in document["cells"]}
    assert found == {
        "how=ask": ("skipped", "fails with gpus=1, too: no answer"),
        "how=sleep": ("stopped", "stopped at its limit of 10 s"),
        "how=kill": ("killed", "killed by SIGKILL"),
        "how=eat": ("stopped", "stopped at its limit of 6GiB of host memory"),
    }
    assert [group["status"] for group in document["groups"]] == ["stopped", "killed", "stopped"]


@pytest.mark.long
def test_a_fix_of_a_group_is_tried_on_other_cells(folder: Path) -> None:
    (folder / "sweep.toml").write_text(SWEEP.replace('"fine", "mixed", "bad"', '"mixed"'), encoding="utf-8")
    [group] = swept(folder, "--fix", "--jobs", "1")["groups"]
    assert group["fix"]["result"]["status"] == "fixed" and group["fix"]["cell"] == "gpus=2"
    assert group["fix"]["checks"] == [{"cell": "gpus=3", "status": "verified"}]
    assert (folder / "train.py").read_text(encoding="utf-8") == PROGRAM


@pytest.mark.long
def test_another_interpreter_and_a_cell_in_a_process_of_its_own(folder: Path) -> None:
    other = folder / "env" / "bin" / "python"
    other.parent.mkdir(parents=True)
    other.write_text(f'#!/bin/sh\nOTHER=yes exec {sys.executable} "$@"\n', encoding="utf-8")
    other.chmod(0o755)
    (folder / "train.py").write_text(
        "import os, torch\nprint(torch.ones(1, device='cuda:1'))\n"
        "assert os.environ.get('OTHER') == os.environ['EXPECTED']\n",
        encoding="utf-8",
    )
    (folder / "sweep.toml").write_text(
        'command = "train.py"\npreload = []\n[matrix]\npython = ["env"]\nenvironment = { EXPECTED = ["yes", "no"] }\n',
        encoding="utf-8",
    )
    assert statuses(swept(folder, "--jobs", "1")) == {"EXPECTED=yes": "passed", "EXPECTED=no": "error"}


def processes_with(mark: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            pass
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.long
def test_a_sweep_that_is_ended_goes_on_later(folder: Path, number: signal.Signals) -> None:
    text = SWEEP.replace('"fine", "mixed", "bad"', '"fine", "sleep"').replace("60", "600").replace("[2, 3]", "[2]")
    (folder / "sweep.toml").write_text(text, encoding="utf-8")
    environment = {**os.environ, "MARK": folder.name}
    process = subprocess.Popen(
        [sys.executable, "-m", "devsan", "sweep", "sweep.toml", "--jobs", "1"], cwd=folder, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 120
    state = folder / "sweep.jsonl"
    while time.monotonic() < until and (not state.exists() or state.read_text().count('"record": "cell"') < 3):
        time.sleep(0.2)
    time.sleep(1)  # for the cell that sleeps to begin
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode == 130 and "interrupted; the cells that are done are in" in told
    until = time.monotonic() + 20
    while processes_with(f"MARK={folder.name}") and time.monotonic() < until:
        time.sleep(0.2)
    assert processes_with(f"MARK={folder.name}") == [], "no cell runs on"
    (folder / "train.py").write_text("", encoding="utf-8")
    assert statuses(swept(folder, code=0)) == {"how=fine": "passed", "how=sleep": "passed"}
    assert state.read_text(encoding="utf-8").count('"record": "cell"') == 4, "only the cell that was running runs again"


class Stream:
    encoding = "utf-8"

    def __init__(self, is_terminal: bool) -> None:
        self.text, self._is_terminal = "", is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None: ...

    def fileno(self) -> int:
        raise OSError


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_bar(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Stream(True)
    progress = SweepProgress(8, stream, language)  # type: ignore[arg-type]
    progress(2, None)
    progress(4, CellResult("k", "gpus=2", {}, "failed"))
    assert "[############............]" in stream.text
    assert re.search("1 failed" if language == "en" else "1 个失败", stream.text)
    assert re.search("0:0[0-9] left" if language == "en" else "剩余 0:0[0-9]", stream.text)
    progress.fixing(1, 3)("move `x`")
    progress.close()
    assert stream.text.endswith("\r\x1b[K")


def test_lines_without_a_terminal() -> None:
    stream = Stream(False)
    progress = SweepProgress(1000, stream, "en")  # type: ignore[arg-type]
    for number in range(1001):
        progress(number, CellResult("k", f"n={number}", {}, "passed"))
    assert stream.text.splitlines() == ["devsan: 0 of 1000 cells  n=0", "devsan: 1000 of 1000 cells  n=1000"]
