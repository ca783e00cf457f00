"""``[tool.devsan]``, and ``devsan config``, which shows what is in force and where it came from."""

from __future__ import annotations

import pytest

PRINT = ("run", "-q", "-c", "import os; print(os.environ['DEVSAN_OPTIONS'])")
TABLE = '[tool.devsan]\ngpus = 4\nprofile = "l4-24g"\ncheck = ["streams"]\nquiet = true\nerror-exitcode = 9\n'


def shown(front, *words: str, **environment: str) -> dict[str, tuple[str, str]]:
    done = front.devsan("config", *words, **environment)
    assert done.returncode == 0, done.stderr
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    return {key: (value, source) for key, value, source in rows}


def test_the_command_line_before_the_environment_before_the_file(front):
    front.write("pyproject.toml", TABLE)
    file = str(front.folder / "pyproject.toml")
    found = shown(front, "--memory", "2GiB", DEVSAN_OPTIONS="profile=t4-16g:memory=1GiB")
    assert found["gpus"] == ("4", file) and found["check"] == ("streams", file) and found["quiet"] == ("yes", file)
    assert found["profile"] == ("t4-16g", "DEVSAN_OPTIONS")
    assert found["memory"] == ("2GiB", "command line")
    assert found["policy"] == ("stop", "default") and found["output"] == ("-", "default")
    done = front.devsan(*PRINT, DEVSAN_OPTIONS="profile=t4-16g:memory=1GiB")
    assert done.stdout == "gpus=4:profile=t4-16g:memory=1GiB:check=streams:error-exitcode=9:quiet=yes\n"
    assert front.devsan("run", "--gpus=l4-24g", *PRINT[1:]).stdout.startswith("gpus=l4-24g:check=streams")
    assert shown(front, "--gpus=real")["check"] == ("-", "command line"), "what was meant for emulated GPUs is reset"


def test_the_nearest_file_that_has_the_table(front):
    front.write("pyproject.toml", '[tool.devsan]\ngpus = 3\noutput = "run.dvs"\n')
    front.write("a/pyproject.toml", '[project]\nname = "devsan-user"\n')
    front.write("a/b/x.py", "")
    folder = front.folder
    front.folder = folder / "a" / "b"
    found = shown(front)
    assert found["gpus"] == ("3", str(folder / "pyproject.toml"))
    assert found["output"][0] == str(folder / "run.dvs"), "seen from the folder of the file"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gpu = 4", "got 'gpu'; did you mean 'gpus'?"),
        ("fail_onn = 'error'", "got 'fail_onn'; did you mean 'fail-on'?"),
        ("policy = 'wran'", "expected policy to be stop or warn, got 'wran'; did you mean 'warn'?"),
        ("gpus = true", "expected gpus to be a text, a number or a list of these, got True"),
        ("force = 'yes'", "expected force to be true or false, got 'yes'"),
        ("memory = 1.5", "expected memory to be a text, a number or a list of these, got 1.5"),
        ("memory = 24", "expected a size such as 24GiB or 512MiB, got '24'; did you mean 24GiB?"),
        ("error-exitcode = -1", "expected an exit code from 0 to 255, got '-1'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("words", [("config",), ("run", "-c", "open('started', 'w')")], ids=["config", "run"])
def test_refusals(front, text, sentence, words):
    front.write("pyproject.toml", f"[tool.devsan]\n{text}\n")
    done = front.devsan(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"devsan: [tool.devsan] of {front.folder}/pyproject.toml: expected ")
    assert done.stderr.endswith(f"{sentence}\n") and done.stderr.count("\n") == 1
    assert not (front.folder / "started").exists()


def test_a_file_that_is_no_toml_and_one_that_is_nobody_elses(front):
    front.write("pyproject.toml", "devsan = ")
    assert "expected TOML, got" in front.devsan("config").stderr
    front.write("pyproject.toml", "broken = ")
    assert front.devsan("config").returncode == 0
    front.write("pyproject.toml", "[tool]\ndevsan = 4\n")
    assert front.devsan("config").stderr.endswith("to be a table, got 4\n")


def test_a_contradiction_is_shown_with_its_sources(front):
    front.write("pyproject.toml", '[tool.devsan]\ngpus = 4\nmemory = ["1GiB", "2GiB"]\n')
    done = front.devsan("config")
    assert done.returncode == 2 and "1GiB,2GiB" in done.stdout
    assert done.stderr == "devsan: expected one size for memory, or one for each of 4 GPUs, got 2 sizes\n"


def test_the_language_of_every_command(front):
    front.write("pyproject.toml", '[tool.devsan]\nlang = "zh"\n')
    assert "默认值" in front.devsan("config", PYTHONIOENCODING="utf-8").stdout
    chinese = front.devsan("explain", "DV101", PYTHONIOENCODING="utf-8").stdout
    assert "设备" in chinese
    assert "设备" not in front.devsan("explain", "DV101", DEVSAN_LANG="en", PYTHONIOENCODING="utf-8").stdout
    assert front.devsan("explain", "DV101", "--lang=en").stdout != chinese


def test_a_program_that_is_reached_by_the_environment_has_its_own(front):
    front.write("pyproject.toml", TABLE)
    print_it = "import torch, os; print(os.environ['DEVSAN_OPTIONS'])"
    assert front.python("-c", print_it, DEVSAN_OPTIONS="gpus=2").stdout == "gpus=2\n"


@pytest.mark.parametrize("text", ["[tool.devsan]\ngpu = 2\n", "[tool.devsan\n"])
@pytest.mark.parametrize("words", [["completion", "bash"], ["explain", "DV101"], ["profiles"], ["top"]])
def test_a_wrong_file_is_told_by_commands_that_read_it(front, text: str, words: list[str]):
    front.write("pyproject.toml", text)
    done = front.devsan(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert front.devsan("config").returncode == 2
