"""``--fail-on`` and ``--error-exitcode``: one meaning for run, report, doctor and pytest."""

from __future__ import annotations

import json
import sys

import pytest
from recorded_runs import FAILS, Programs

from devsan.fail_on import exit_code

WARNED = ("--policy", "warn")


@pytest.mark.parametrize(
    ("severities", "level", "given", "own", "code"),
    [
        (["error"], "", None, 0, 0), (["error"], "error", None, 0, 1), (["warning"], "error", None, 0, 0),
        (["warning"], "warning", None, 0, 1), (["note"], "warning", None, 0, 0), (["error"], "never", 9, 0, 0),
        (["error"], "", 9, 0, 9), (["warning"], "", 9, 0, 0), (["warning"], "warning", 9, 0, 9),
        (["error"], "error", None, 3, 3), (["error"], "error", 9, 3, 9), (["error"], "error", 0, 1, 0),
        ([], "warning", 9, 0, 0), ([], "warning", 9, 7, 7), (["error"], "warning", None, 0, 1),
    ],
)  # fmt: skip
def test_what_counts(severities, level, given, own, code):
    assert exit_code(severities, level, given, own=own) == code


def test_a_default_that_counts():
    assert exit_code(["warning"], "", None, default="warning") == 1
    assert exit_code(["warning"], "", 5, default="warning") == 5
    assert exit_code(["warning"], "error", 5, default="warning") == 0


@pytest.fixture
def programs(tmp_path):
    return Programs(tmp_path)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (WARNED, 0), ((*WARNED, "--fail-on", "error"), 0), ((*WARNED, "--fail-on", "warning"), 1),
        ((*WARNED, "--fail-on=warning", "--error-exitcode=9"), 9), ((), 1), (("--error-exitcode", "9"), 9),
        (("--fail-on", "never", "--error-exitcode", "9"), 1),
    ],
)  # fmt: skip
def test_a_run(programs, options, code):
    done, _, error = programs.run(FAILS, "--gpus", "2", *options)
    assert done == code, error


@pytest.mark.long
def test_a_child_of_a_command(programs):
    programs.words(FAILS)
    command = ("--", sys.executable, "program.py")
    for options, code in ((("--fail-on", "warning"), 1), (("--fail-on=warning", "--error-exitcode=9"), 9), ((), 0)):
        words = [sys.executable, "-m", "devsan", "run", *WARNED, *options, *command]
        process = programs.start(words)
        _, error = process.communicate(timeout=240)
        assert process.returncode == code, error


def test_a_report(front, programs):
    programs.run(FAILS, "-orun.dvs")
    for options, code in (((), 0), (("--fail-on", "warning"), 1), (("--error-exitcode", "9"), 9)):
        assert front.devsan("report", "run.dvs", "--format", "json", *options).returncode == code


def test_the_doctor(front):
    front.write("ds.json", json.dumps({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
                                       "gradient_accumulation_steps": 3}))  # fmt: skip
    words = ("doctor", "--no-machine", "ds.json")
    launch = ("--", "torchrun", "--nproc_per_node=2", "train.py")
    for options, code in (((), 1), (("--fail-on", "never"), 0), (("--error-exitcode", "9"), 9)):
        assert front.devsan(*words, *options, *launch).returncode == code


@pytest.mark.parametrize("words", [("run", "-c", "pass"), ("report", "x.dvs"), ("doctor", "--no-machine")])
def test_refusals(front, words):
    for option, sentence in (
        (
            "--fail-on=warnings",
            "expected fail-on to be error, warning or never, got 'warnings'; did you mean 'warning'?",
        ),
        ("--error-exitcode=256", "expected an exit code from 0 to 255, got '256'"),
    ):
        done = front.devsan(words[0], option, *words[1:])
        assert (done.returncode, done.stderr) == (2, f"devsan: {sentence}\n")
