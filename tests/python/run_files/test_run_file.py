"""Run files: what a run leaves behind, also one that was killed, forked, or one of several."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from recorded_runs import MOVES

from devsan.errors import DevsanError, UsageError
from devsan.options import Options
from devsan.run_files import recording, run_file
from devsan.run_files.reader import read_run

PROCESS = {
    "command": ["python", "train.py"], "directory": "/x", "pid": 1, "rank": 0, "local_rank": 0, "world_size": 1,
    "devsan": "", "python": "3.12.0", "torch": "2.13.0", "platform": "",
}  # fmt: skip
RUN = {"record": "run", "version": 2, "start": "2026-01-01T00:00:00.000Z", "process": PROCESS, "gpus": []}
HEAD = json.dumps(RUN) + "\n"


def places(run: dict) -> dict[tuple[str, str, int], int]:
    return {
        (each["from"], each["to"], each["event"]["site"]["line"]): each["times"]
        for each in run["places"]
    }  # fmt: skip


def test_a_run_that_fails(failed):
    run = failed.run
    assert failed.code == 1
    assert "error[DV" in failed.error
    assert failed.error.splitlines()[-2:] == [
        "devsan: the run is in run.dvs; devsan report run.dvs shows it",
        "devsan: to find and verify a fix, run: devsan fix --gpus 2 --memory 1GiB program.py",
    ]
    assert run["end"]["how"] == "exception"
    assert run["end"]["exit_code"] == 1
    assert run["end"]["exception"]["type"] == "RuntimeError"
    assert run["notes"] == []
    assert run["process"]["directory"] == str(failed.folder.resolve())
    words = ["devsan", "run", "--gpus", "2", "--memory", "1GiB", "-orun.dvs", "program.py"]
    assert run["process"]["command"] == words
    assert [gpu["memory"] for gpu in run["gpus"]] == [2**30, 2**30]
    (finding,) = run["findings"]
    (site,) = finding["sites"]
    assert (site["file"], site["line"], site["column"]) == ("program.py", 8, 1)
    assert site["path"] == str((failed.folder / "program.py").resolve())
    assert [(label["column"], label["end_column"]) for label in site["labels"]] == [(1, 2), (5, 6)]
    assert {operand["name"]: operand["device"] for operand in finding["operands"]} == {"a": "cuda:0", "b": "cuda:1"}
    assert places(run) == {("cuda:0", "cuda:1", 5): 3, ("cuda:0", "cuda:1", 7): 1}
    assert sum(each["bytes"] for each in run["transfers"]) == 4 * 4096
    assert [each["peak_reserved"] for each in run["memory"]["devices"]] == [2**21, 2**21]
    assert all(0 < each["budget"] < 2**30 for each in run["memory"]["devices"])


def test_an_error_that_the_program_explains_is_one_finding(programs):
    program = """import devsan, torch
try:
    torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")
except RuntimeError as error:
    assert devsan.explain(error) == devsan.explain(error) != ""
    raise ValueError("step 3 failed") from error
"""
    assert programs.run(program)[0] == 1
    assert [finding["count"] for finding in programs.read()["findings"]] == [1]


def test_times_lie_within_the_run(failed):
    run = failed.run
    times = [each["time"] for each in run["transfers"]] + [each["time"] for each in run["memory"]["samples"]]
    assert times
    assert all(0 <= time <= run["end"]["time"] for time in times)
    assert all(each["time"] <= each["until"] for each in run["transfers"])
    assert 0 < run["findings"][0]["time"] <= run["end"]["time"]


def test_a_run_that_ends_well_has_its_models(programs):
    program = "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 4).to('cuda:1'))\n"
    code, _, _ = programs.run(program + "raise SystemExit(7)\n")
    run = programs.read()
    assert (code, run["end"]["exit_code"], run["end"]["how"]) == (7, 7, "finished")
    (model,) = run["models"]
    devices = {each["path"]: {tensor["device"] for tensor in each["tensors"]} for each in model["modules"]}
    assert devices == {"": set(), "0": {"cpu"}, "1": {"cuda:1"}}
    assert model["finding"] == ""


def test_a_run_that_leaves_without_an_end(programs):
    programs.run(MOVES + "import os, time\ntime.sleep(0.5)\nos._exit(3)\n")
    run = programs.read()
    assert run["end"] is None
    assert places(run) == {("cuda:0", "cuda:1", 5): 3, ("cuda:0", "cuda:1", 7): 1}


def test_a_run_can_be_read_while_it_goes_on_and_after_it_was_killed(programs):
    process = programs.start(programs.words(MOVES + "print(1, flush=True)\ninput()\n", "-o", "run.dvs"))
    try:
        assert process.stdout.readline() == "1\n"
        until = time.monotonic() + 20
        while not (run := programs.read())["transfers"] and time.monotonic() < until:
            time.sleep(0.05)
        assert run["end"] is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert programs.read()["places"] == run["places"]
    assert places(run) == {("cuda:0", "cuda:1", 5): 3, ("cuda:0", "cuda:1", 7): 1}


def test_forked_children_write_nothing(programs):
    program = """
    import os, torch
    from torch.utils.data import DataLoader
    loader = DataLoader(list(range(8)), num_workers=2, multiprocessing_context="fork")
    for batch in loader:
        pass
    if os.fork() == 0:
        raise SystemExit(0)
    os.wait()
    torch.ones(3).to("cuda:0")
    """
    code, _, error = programs.run("\n".join(line[4:] for line in program.splitlines()))
    run = programs.read()
    assert code == 0, error
    assert run["end"]["how"] == "finished"
    lines = (programs.folder / "run.dvs").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["record"] for line in lines].count("end") == 1
    assert sorted(path.name for path in programs.folder.glob("*.dvs")) == ["run.dvs"]


def test_ranks_and_children_have_files_of_their_own(programs):
    program = """
    import os, subprocess, sys
    import torch
    from devsan import autoload
    autoload.load()  # as torch does where DevSan is installed and not only on the path
    if sys.argv[1:]:
        if sys.argv[1] == "move":
            torch.ones(3).to("cuda:1")
        raise SystemExit
    ranked = {**os.environ, "RANK": "1", "WORLD_SIZE": "2"}
    started = [(["move"], ranked), (["move"], os.environ), (["idle"], os.environ)]
    children = [subprocess.Popen([sys.executable, __file__, *words], env=each) for words, each in started]
    assert [child.wait() for child in children] == [0, 0, 0]
    """
    for name in ("run.dvs", "run.rank1.dvs"):  # of an earlier launch
        (programs.folder / name).write_text(HEAD, encoding="utf-8")
        os.utime(programs.folder / name, (1, 1))
    programs.words("\n".join(line[4:] for line in program.splitlines()))
    process = programs.start([sys.executable, "program.py"], DEVSAN_OPTIONS="gpus=2:output=run.dvs:force=yes")
    _, error = process.communicate(timeout=240)
    assert process.returncode == 0, error
    names = sorted(path.name for path in programs.folder.glob("*.dvs"))
    others = [name for name in names if name not in ("run.dvs", "run.rank1.dvs")]
    assert len(names) == 3, "one that only imports torch leaves nothing"
    assert programs.read("run.rank1.dvs")["process"]["rank"] == 1
    assert programs.read("run.dvs")["process"]["pid"] == process.pid
    assert programs.read("run.dvs")["process"]["command"] == ["python", "program.py"]
    assert f"run.{programs.read(*others)['process']['pid']}.dvs" in others


@pytest.mark.parametrize(
    ("pattern", "environment", "name"),
    [
        ("run.dvs", {}, "run.dvs"), ("run.dvs", {"RANK": "3", "WORLD_SIZE": "4"}, "run.rank3.dvs"),
        ("run.dvs", {"RANK": "0", "WORLD_SIZE": "1"}, "run.dvs"), ("r%r.dvs", {"RANK": "3"}, "r3.dvs"),
        ("r%r.dvs", {}, "r0.dvs"), ("a/run", {"RANK": "1", "WORLD_SIZE": "2"}, "a/run.rank1"),
        ("p%p", {"RANK": "1", "WORLD_SIZE": "2"}, "pPID"),
    ],
)  # fmt: skip
def test_names(pattern, environment, name):
    assert run_file.name_of(pattern, environment) == name.replace("PID", str(os.getpid()))


def test_a_file_that_is_being_written_is_left_alone(tmp_path):
    pattern = str(tmp_path / "run.dvs")
    first, one = run_file.open_new(pattern, time.time() + 60)
    try:
        second, other = run_file.open_new(pattern, time.time() + 60)
        os.close(second)
    finally:
        os.close(first)
    assert (one, other) == (pattern, str(tmp_path / f"run.{os.getpid()}.dvs"))
    third, again = run_file.open_new(pattern, time.time() + 60)
    os.close(third)
    assert again == pattern, "nobody writes it any more, and it is empty"
    (tmp_path / "run.dvs").write_text(HEAD, encoding="utf-8")
    for force, name in ((False, other), (True, pattern)):
        file, path = run_file.open_new(pattern, time.time() + 60, force)
        os.close(file)
        assert path == name


@pytest.mark.long
def test_the_environment_loses_no_file(programs):
    """Nothing asks the user there: the run is recorded under another name, which is told."""
    (programs.folder / "run.dvs").write_text(HEAD, encoding="utf-8")
    os.utime(programs.folder / "run.dvs", (1, 1))
    (programs.folder / "page.html").write_text("dear", encoding="utf-8")
    load = "import torch\nfrom devsan import autoload\nautoload.load()\n"
    programs.words(load + MOVES)
    process = programs.start([sys.executable, "program.py"], DEVSAN_OPTIONS="gpus=2:output=run.dvs")
    _, error = process.communicate(timeout=240)
    assert f"devsan: the run is in run.{process.pid}.dvs; " in error
    assert (programs.folder / "run.dvs").read_text(encoding="utf-8") == HEAD
    process = programs.start([sys.executable, "program.py"], DEVSAN_OPTIONS="gpus=2:output=page.html")
    _, error = process.communicate(timeout=240)
    assert f"devsan: the report is in page.{process.pid}.html\n" in error
    assert (programs.folder / "page.html").read_text(encoding="utf-8") == "dear"


def test_what_is_no_run_file_is_not_replaced(programs):
    (programs.folder / "data.dvs").write_text("dear", encoding="utf-8")
    code, _, error = programs.run(MOVES, "-o", "data.dvs")
    assert code == 2
    assert error.startswith("devsan: expected a new file or a run file for output, got ")
    assert (programs.folder / "data.dvs").read_text(encoding="utf-8") == "dear"


def test_a_folder_that_is_not_there(programs):
    code, _, error = programs.run(MOVES, "-o", "none/run.dvs")
    assert (code, error.count("\n")) == (2, 1)
    assert "expected output in a folder that exists" in error


def test_a_full_disk_is_told_once_and_changes_nothing(programs):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    program = (
        "import os, torch\nfrom devsan.run_files import recording\n"
        + """
full = os.open("/dev/full", os.O_WRONLY)
os.dup2(full, recording._writer._file)
"""
        + MOVES
        + "print('done')\n"
    )
    code, out, error = programs.run(program)
    assert (code, out) == (0, "done\n")
    assert error.count("the run is no longer recorded") == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "which is empty"), ("hello", "which is not one"), ("hello\n", "which is not one"),
        ("[]\n", "which is not one"), ('{"record": "run", "vers', "whose first line is cut off"),
        ('{"record": "run", "version": 9}\n', "of version 9"),
        ('{"record": "run", "version": 2}\n', "line 1 is damaged"),
        (json.dumps({**RUN, "process": {}}) + "\n", "line 1 is damaged"),
        (HEAD + '{"record": "finding", "finding": {"id": "1"}}\n', "line 2 is damaged"),
        (HEAD + "x\n" + HEAD, "line 2 is damaged"), (HEAD + '{"record": "memory"}\n', "line 2 is damaged"),
    ],
)  # fmt: skip
def test_damaged_files(tmp_path, text, sentence):
    path = tmp_path / "run.dvs"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DevsanError) as caught:
        read_run(str(path))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_last_line_that_is_cut_off(tmp_path):
    path = tmp_path / "run.dvs"
    path.write_text(HEAD + '{"record": "mem', encoding="utf-8")
    run = read_run(str(path))
    assert run["notes"] == ["the last line is cut off (15 bytes): the process was stopped while it wrote"]


def test_records_of_a_later_edition_are_passed_over(tmp_path):
    path = tmp_path / "run.dvs"
    path.write_text(HEAD + '{"record": "weather", "is": "fine"}\n', encoding="utf-8")
    assert read_run(str(path))["notes"] == []


def test_a_missing_file():
    with pytest.raises(DevsanError, match=r"expected a run file, got '/nowhere/run\.dvs'"):
        read_run("/nowhere/run.dvs")


def test_a_rank_that_was_started_by_hand_needs_no_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RANK", "0")
    path = tmp_path / "run.dvs"
    options = Options().updated({"output": str(path)})
    run_file.check(options)
    path.write_bytes(run_file._FIRST)
    with pytest.raises(UsageError, match="a new file for output"):
        run_file.check(options)


def test_output_has_no_colon():
    from devsan.options import find_option, read_variable

    with pytest.raises(UsageError, match="without a colon"):
        find_option("output").read("a:b")
    assert read_variable("output=run.dvs").output == os.path.abspath("run.dvs")


class OutOfMemoryError(RuntimeError):
    """Called as torch's."""


@pytest.mark.parametrize(
    ("code", "error", "how", "expected"),
    [
        (0, None, "finished", 0), (7, None, "finished", 7), (None, None, "finished", None),
        (130, KeyboardInterrupt(), "interrupted", 130), (1, ValueError("no"), "exception", 1),
        (None, ValueError("no"), "exception", 1), (1, OutOfMemoryError("2 GiB"), "out_of_memory", 1),
    ],
)  # fmt: skip
def test_how_a_run_ends(monkeypatch, code, error, how, expected):
    for name in ("last_exc", "last_value"):
        monkeypatch.setattr(sys, name, None, raising=False)
    monkeypatch.setattr(recording, "_exit_code", None)
    monkeypatch.setattr(recording, "_ended_by", None)
    recording.ended(code, error)
    end = recording._end(1.5)
    assert (end["time"], end["how"], end["exit_code"]) == (1.5, how, expected)
    assert (end["exception"] is None) == (error is None)
    if error is not None:
        assert end["exception"] == {"type": type(error).__name__, "message": str(error)}
