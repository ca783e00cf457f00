"""``-o FILE``: what is in a file stays there, unless ``--force`` is given, and nothing starts before that is said."""

from __future__ import annotations

import json

import pytest

PROCESS = {
    "command": ["python", "train.py"], "directory": "/x", "pid": 1, "rank": 0, "local_rank": 0, "world_size": 1,
    "devsan": "", "python": "3.12.0", "torch": "2.13.0", "platform": "",
}  # fmt: skip
HEAD = {"record": "run", "version": 2, "start": "2026-01-01T00:00:00.000Z", "process": PROCESS, "gpus": []}
RUN = json.dumps(HEAD) + "\n"
STARTED = "open('started', 'w')"
SWEEP = 'command = "x.py"\n[matrix]\ngpus = [2]\n'

COMMANDS = {
    "a run": ("run", "-o", "run.dvs", "x.py"),
    "a launch": ("run", "-o", "run.dvs", "--", "python", "x.py"),
    "the report of a run": ("run", "-o", "run.html", "x.py"),
    "a report": ("report", "in.dvs", "-o", "run.json"),
    "a sweep": ("sweep", "sweep.toml", "--format", "json", "-o", "run.json"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_file_that_exists_is_kept(front, words):
    name = next(word for word in words if word.startswith("run."))
    front.write("x.py", STARTED)
    front.write("sweep.toml", SWEEP)
    front.write("in.dvs", RUN)
    front.write(name, RUN)
    done = front.devsan(*words)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("devsan: expected a new file for output, or --force to replace it, got ")
    assert done.stderr.endswith(f"{name}', which exists\n") and done.stderr.count("\n") == 1
    assert (front.folder / name).read_text(encoding="utf-8") == RUN
    assert not (front.folder / "started").exists()


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_an_empty_file_is_used(front, words):
    """As ``mktemp`` makes it."""
    name = next(word for word in words if word.startswith("run."))
    front.write("x.py", STARTED)
    front.write("sweep.toml", SWEEP)
    front.write("in.dvs", RUN)
    front.write(name, "")
    assert "which exists" not in front.devsan(*words).stderr


@pytest.mark.parametrize("name", ["run.rank0.dvs", "run.rank12.dvs"])
def test_the_files_of_ranks_are_kept(front, name):
    front.write("x.py", STARTED)
    front.write(name, RUN)
    done = front.devsan("run", "-o", "run.dvs", "--", "python", "x.py")
    assert (done.returncode, "which exists" in done.stderr) == (2, True), done
    assert front.devsan("run", "-o", "other.dvs", "x.py").returncode == 0
    assert front.devsan("run", "--force", "-o", "run.dvs", "x.py").returncode == 0
    front.write(name.replace(".rank", "-"), RUN)
    assert "which exists" in front.devsan("run", "-o", "run-%r.dvs", "x.py").stderr
    assert "which exists" not in front.devsan("run", "-o", "run-%p.dvs", "x.py").stderr


def test_force_leaves_no_file_of_an_earlier_launch(front):
    """They would be read together with the new ones: a larger job's other ranks, or the file of a run without ranks."""
    front.write("x.py", STARTED)
    for name in ("run.dvs", "run.rank0.dvs", "run.rank2.dvs"):
        front.write(name, RUN)
    front.write("run.other.dvs", RUN)
    assert front.devsan("run", "--force", "-o", "run.dvs", "x.py").returncode == 0
    assert not list(front.folder.glob("run.rank*.dvs")) and (front.folder / "run.other.dvs").exists()


def test_force_keeps_what_the_same_launch_wrote(front):
    front.write("x.py", STARTED)
    front.write("run.rank0.dvs", RUN)
    started = repr((front.folder / "run.rank0.dvs").stat().st_mtime - 1)
    done = front.python("x.py", DEVSAN_OPTIONS="gpus=2:output=run.dvs:force=yes", DEVSAN_LAUNCH=started)
    assert done.returncode == 0, done.stderr
    assert (front.folder / "run.rank0.dvs").exists()


def test_another_file_than_a_run_file_is_kept_with_force_too(front):
    front.write("x.py", STARTED)
    front.write("x", STARTED)
    done = front.devsan("run", "--force", "-o", "x", "x.py")
    assert done.stderr.endswith("x', which is another file\n")
    assert (front.folder / "x").read_text(encoding="utf-8") == STARTED


def test_force_replaces_a_report(front):
    front.write("in.dvs", RUN)
    front.write("run.json", "old")
    assert front.devsan("report", "in.dvs", "--force", "-o", "run.json").returncode == 0
    assert json.loads((front.folder / "run.json").read_text(encoding="utf-8"))["format"] == "devsan-run"
    assert front.devsan("report", "in.dvs", "-o", "/dev/null").returncode == 0


@pytest.mark.long
def test_force_of_a_flag_and_of_the_environment(front):
    print_it = "import os; print(os.environ['DEVSAN_OPTIONS'])"
    done = front.devsan("run", "--force", "-c", print_it)
    assert done.stdout == "gpus=2:force=yes\n"
    assert front.devsan("run", "-c", print_it, DEVSAN_OPTIONS="gpus=2:force=1").stdout == done.stdout
    assert front.devsan("run", "-c", print_it, DEVSAN_OPTIONS="force=true:force=no").stdout == "gpus=2\n"
    wrong = front.devsan("run", "-c", print_it, DEVSAN_OPTIONS="force=maybe")
    assert wrong.stderr.startswith("devsan: expected a flag to be yes or no, got 'maybe'")
