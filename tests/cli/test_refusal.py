"""What a command did not understand, in Chinese."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import devsan.cli
from devsan.cli import main

PACKAGE = Path(devsan.cli.__file__).parents[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rn"], "devsan: 应为一个命令"),
        (["run", "--lang=zh"], "devsan: 应为要运行的程序"),
        (["run", "--lang", "zh", "--bogus", "x.py"], "devsan: 应为 devsan run --help 所列的选项"),
        (["run", "--lang", "zh", "nowhere.py"], "devsan: 应为已有的脚本"),
        (["run", "--memory", "24G", "x.py"], "devsan: 应为大小"),
        (["run", "--fail-on", "x", "x.py"], "devsan: expected fail-on to be "),  # has no Chinese: all of it is English
    ],
)
def test_a_refusal_in_chinese(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DEVSAN_LANG", raising=False)
    if not any(word.startswith("--lang") for word in words):
        monkeypatch.setenv("DEVSAN_LANG", "zh")
    assert main.main(words) == 2
    written = capsys.readouterr().err
    assert written.startswith(said) and written.count("\n") == 1


def test_the_language_of_the_program_is_not_devsans(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEVSAN_LANG", "en")
    assert main.main(["run", "nowhere.py", "--lang", "zh"]) == 2
    assert capsys.readouterr().err.startswith("devsan: expected a script that exists, got ")


def test_every_template_is_said() -> None:
    table = json.loads((PACKAGE / "cli" / "chinese.json").read_text(encoding="utf-8"))["refusals"]
    code = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert [english for english in table if f'"{english}"' not in code] == []
