"""``devsan completion``: what bash offers, asked of bash itself."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from devsan.cli.main import COMMANDS, main
from devsan.options import OPTIONS

ASK = 'eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _devsan; echo "${COMPREPLY[@]}"'


@pytest.fixture
def offered(front):
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    script = front.devsan("completion", "bash").stdout

    def ask(*words: str) -> list[str]:
        done = subprocess.run(["bash", "-c", ASK, "bash", script, "devsan", *words], capture_output=True, text=True,
                              timeout=60, check=True)  # fmt: skip
        assert done.stderr == ""
        return done.stdout.split()

    return ask


def test_what_bash_offers(offered):
    assert offered("") == [command.name for command in COMMANDS]
    assert offered("re") == ["report"]
    assert set(offered("run", "-")) == {"-h", "--help", *(each for option in OPTIONS for each in option.spellings)}
    assert offered("run", "--policy", "") == ["stop", "warn"]
    assert offered("run", "--gpus", "4", "--profile", "l4-") == ["l4-24g"]
    assert offered("fix", "--d") == ["--diff"]
    assert offered("doctor", "--fail-on", "w") == ["warning"]
    assert offered("sweep", "--format", "j") == ["json", "junit"]


def test_files_and_words_of_the_program_are_left_to_bash(offered):
    for line in ("run ", "run train.py --g", "run -q train.py -", "run -- torchrun --n", "run -m train --p", "run -o ",
                 "report "):  # fmt: skip
        words = line.split(" ")
        assert offered(*words) == []
    assert offered("run", "--memory", "1GiB", "--us") == ["--used-memory"]


def test_other_shells(front):
    zsh = front.devsan("completion", "zsh").stdout
    assert zsh.startswith("autoload -U +X bashcompinit && bashcompinit\n")
    assert zsh.endswith(front.devsan("completion", "bash").stdout)
    fish = front.devsan("completion", "fish").stdout.splitlines()
    assert "complete -c devsan -n '__fish_seen_subcommand_from run' -l policy -x -a 'stop warn'" in fish
    wrong = front.devsan("completion", "fihs")
    assert wrong.stderr == "devsan: expected a shell (bash, zsh, fish), got 'fihs'; did you mean fish?\n"


def test_an_error_in_the_configuration_leaves_the_words(tmp_path, monkeypatch, capsys):
    """A shell evaluates the script when it starts, in whatever folder."""
    tmp_path.joinpath("pyproject.toml").write_text("[tool.devsan]\ngpu = 2\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["completion", "bash"]) == 0
    printed, error = capsys.readouterr()
    assert "complete" in printed and error == ""
