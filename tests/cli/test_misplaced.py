"""Options in the wrong place: told, with the line to type, and never where they are the program's own."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.cli.command import Parser
from devsan.cli.main import COMMANDS, main
from devsan.cli.misplaced import apart
from devsan.cli.program_words import READERS
from devsan.cli.run import RunCommand
from devsan.errors import UsageError
from devsan.options import OPTIONS as ALL_OPTIONS

OPTIONS = [option for option in ALL_OPTIONS if not option.is_flag]
VALUES = {
    "gpus": "3", "profile": "l4-24g", "memory": "1GiB", "used-memory": "1MiB", "policy": "warn", "format": "off",
    "output": "run.dvs", "lang": "zh", "history": "32MiB", "check": "streams", "real-below": "1MiB",
    "weights": "none",
    "ranks": "first,last",
    "fail-on": "error", "error-exitcode": "9",
}  # fmt: skip
FORMS = {
    f"{spelling}{form}": [f"{spelling}={VALUES[option.key]}"] if form else [spelling, VALUES[option.key]]
    for option in OPTIONS
    for spelling in option.spellings
    for form in ("=", "")
    if spelling.startswith("--") or not form
}
PROGRAMS = {
    "script": ["train.py"],
    "module": ["-m", "train"],
    "code": ["-c", "pass"],
    "command": ["--", "sh", "train.py"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text("import torch\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delenv("DEVSAN_OPTIONS", raising=False)
    return tmp_path


Told = Callable[..., str]


@pytest.fixture
def told(folder: Path, capsys: pytest.CaptureFixture[str]) -> Told:
    """What devsan run has to say of its words before it starts anything."""

    def tell(*words: str) -> str:
        RunCommand().read(words)
        return capsys.readouterr().err

    return tell


def test_every_option_is_in_the_matrix() -> None:
    assert set(VALUES) == {option.key for option in OPTIONS}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("option", FORMS.values(), ids=FORMS)
def test_every_option_in_every_place(told: Told, option: list[str], program: list[str]) -> None:
    assert told(*option, *program) == told(*option, *program, "data.json") == ""
    assert told(*program, "--", *option) == ""
    for others in ([], ["data.json", "--epochs", "3"]):
        for at in range(len(others) + 1):
            if at == 2:
                continue  # between an option of the program and its value
            said = told(*program, *others[:at], *option, *others[at:])
            line = shlex.join(["devsan", "run", *option, *program, *others])
            spelling = option[0].partition("=")[0]
            assert said.startswith(f"devsan: {spelling} comes after "), said
            assert said.endswith(f"; if it is meant for devsan, run: {line}\n") and said.count("\n") == 1, said
            asked = RunCommand().read(shlex.split(line)[2:])
            options, found = asked.options, asked.program
            assert list(found.arguments) == others
            assert options != RunCommand().read(program).options


@pytest.mark.parametrize("flag", ["--", "-m", "-c"])
@pytest.mark.parametrize("option", FORMS.values(), ids=FORMS)
def test_every_option_behind_what_takes_the_next_word(told: Told, option: list[str], flag: str) -> None:
    line = shlex.join(["devsan", "run", *option, flag, "train"])
    with pytest.raises(UsageError, match=rf"after {flag}, got .*; did you mean {line}\?$"):
        told(flag, *option, "train")


@pytest.mark.parametrize(
    "text",
    [
        'parser.add_argument("{spelling}")',
        "parser.add_argument('{spelling}_and_more')  # argparse abbreviates",
        '@click.option("{spelling}/--no-{name}")\ndef main(**options): ...',
        '"""Usage: train.py [{spelling}=N]"""',
        "@dataclass\nclass Arguments:\n    {name}: int = 1",
        "def main({name}=1): ...\nfire.Fire(main)",
        "def main(*, {name}: int = 1): ...\ntyper.run(main)",
        'flags.DEFINE_integer("{name}", 1, "help")',
        'getopt.getopt(sys.argv[1:], "", ["{name}="])',
        "arguments = dict(word.lstrip('-').split('=') for word in sys.argv[1:])\narguments['{name}']",
        "from settings import parser",
        "import package.settings",
        "from package import settings",
        "from package.deep import parser",
    ],
)
@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_no_alarm_where_the_program_names_it(told: Told, folder: Path, option, text: str) -> None:
    for name in ("settings.py", "package/__init__.py", "package/settings.py", "package/deep/__init__.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("", encoding="utf-8")
    (folder / "settings.py").write_text(f'parser.add_argument("--{option.key}")\n')
    (folder / "package" / "settings.py").write_text("from .deep import parser\n")
    (folder / "package" / "deep" / "__init__.py").write_text(f'parser.add_argument("--{option.key}")\n')
    (folder / "train.py").write_text(text.format(spelling=f"--{option.key}", name=option.name))
    for program in ("script", "module", "command"):
        assert told(*PROGRAMS[program], f"--{option.key}", VALUES[option.key]) == ""


@pytest.mark.parametrize(
    "words", [["--gpus"], ["--gpus", "--lr"], ["--gpus", "all"], ["--format", "wandb"], ["--gpus="]]
)
def test_no_alarm_where_devsan_would_not_understand_it(told: Told, words: list[str]) -> None:
    assert told("train.py", *words) == ""


def test_several_and_one_that_the_program_takes(told: Told, folder: Path) -> None:
    (folder / "train.py").write_text('parser.add_argument("--memory")\n')
    said = told("--lang", "en", "train.py", "--memory", "1GiB", "--gpus=4", "a b", "--used-memory", "0")
    assert said == (
        "devsan: --gpus and --used-memory come after train.py and are passed to it; if they are meant for devsan, "
        "run: devsan run --lang en --gpus=4 --used-memory 0 train.py --memory 1GiB 'a b'\n"
    )


def test_it_is_passed_on_all_the_same(front) -> None:
    front.write("train.py", "import sys\nprint(sys.argv[1:])\n")
    done = front.devsan("run", "train.py", "--gpus", "4")
    assert (done.returncode, done.stdout) == (0, "['--gpus', '4']\n")
    assert done.stderr == (
        "devsan: --gpus comes after train.py and is passed to it; if it is meant for devsan, "
        "run: devsan run --gpus 4 train.py\n"
    )
    assert front.log() == ["start a100-80g,a100-80g"]


@pytest.mark.parametrize(
    "command", ["torchrun --nproc-per-node 2 train.py", "launch 'a b'", "python train.py", "bash job.sh"]
)
@pytest.mark.parametrize("own", [[], ["--gpus", "4"]])
def test_a_command_without_its_dashes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, own: list[str]
) -> None:
    words = shlex.split(command)
    (folder / "bin").mkdir()
    program = folder / "bin" / words[0]
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"))
    line = shlex.join(["devsan", "run", *own, "--", *words])
    with pytest.raises(UsageError) as caught:
        RunCommand().read([*own, *words])
    assert str(caught.value) == f"expected a script that exists, got {words[0]!r}; did you mean {line}?"
    (folder / words[0]).write_text("")  # a file here is a script
    assert RunCommand().read([*own, *words]).program.called == words[0]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--gpus 4 run train.py", "devsan run --gpus 4 train.py"),
        ("--gpus 4 train.py", "devsan run --gpus 4 train.py"),
        ("--fast doctor ds.json", "devsan doctor --fast ds.json"),
        ("--format json report run.dvs", "devsan report --format json run.dvs"),
        ("sh train.sh", "devsan run -- sh train.sh"),
        ("doctor ds.json sh train.sh", "devsan doctor ds.json -- sh train.sh"),
        ("doctor --lang zh --format json sh --json x", "devsan doctor --lang zh --format json -- sh --json x"),
    ],
)
def test_a_command_of_devsans_in_the_wrong_place(folder, capsys, words: str, line: str) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err.endswith(f"; did you mean {line}?\n")


# The options of the other commands, as their parsers know them.
CHOSEN = {"--format": "json", "--jobs": "2", "--sample": "2", "--fail-on": "error", "--error-exitcode": "9"}


class Read(Exception):
    """Stands in for all that a command does with its words."""


def read(name: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    def stop(self: Parser, given: list[str]) -> None:
        raise Read(self, Parser.parse_intermixed_args(self, list(given)))

    monkeypatch.setattr(Parser, "read", stop)
    with pytest.raises(Read) as caught:
        next(command for command in COMMANDS if command.name == name).prepare(words)
    return caught.value.args


@pytest.mark.parametrize(
    "name", [command.name for command in COMMANDS if command.name not in ("run", "fix", "plan", "config", "env", "top")]
)
def test_the_options_of_the_other_commands_may_stand_anywhere(folder, monkeypatch, name: str) -> None:
    names = {"explain": ["DV101"], "profiles": ["l4-24g"], "sweep": ["sweep.toml"], "completion": ["bash"]}.get(
        name, ["a.json", "b.json"]
    )
    parser, _ = read(name, names, monkeypatch)
    seen = 0
    for spelling, reader in parser.readers().items():
        option = [spelling] if reader is None else [spelling, CHOSEN.get(spelling, "en")]
        _, expected = read(name, [*option, *names], monkeypatch)
        for at in range(1, len(names) + 1):
            assert read(name, [*names[:at], *option, *names[at:]], monkeypatch)[1] == expected
            seen += 1
    assert seen > 0 or name in ("profiles", "completion")


def test_the_doctors_options_behind_the_launch_command(folder: Path, capsys, monkeypatch) -> None:
    parser, _ = read("doctor", ["a.json"], monkeypatch)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    (folder / "ds.json").write_text(json.dumps({}))
    doctor = next(command for command in COMMANDS if command.name == "doctor")
    for spelling, reader in parser.readers().items():
        option = [spelling] if reader is None else [spelling, CHOSEN.get(spelling, "en")]
        doctor.prepare(["ds.json", "--", "torchrun", "train.py", "--epochs", "3", *option])
        line = shlex.join(["devsan", "doctor", "ds.json", *option, "--", "torchrun", "train.py", "--epochs", "3"])
        assert capsys.readouterr().err.endswith(f"; if it is meant for devsan, run: {line}\n")
        doctor.prepare(shlex.split(line)[2:])
        assert capsys.readouterr().err == ""


def test_words_apart() -> None:
    found = apart(["a", "--gpus", "4", "--memory=1GiB", "b", "--", "--lang", "en"], READERS)
    assert (found.options, found.spellings) == (["--gpus", "4", "--memory=1GiB"], ["--gpus", "--memory"])
    assert found.others == ["a", "b", "--", "--lang", "en"]


def test_an_option_that_was_given_before_is_not_given_twice(told: Told) -> None:
    said = told("--gpus", "2", "--lang=en", "train.py", "--gpus", "7")
    assert said.endswith("run: devsan run --lang=en --gpus 7 train.py\n")
