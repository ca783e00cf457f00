"""``--help`` in Chinese: all of it has its translation, and the table has nothing else."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import devsan.cli
from devsan.cli import main
from devsan.cli.command import parser_of
from devsan.cli.help_text import PARAGRAPH
from devsan.render.terminal.text import display_width

FILE = Path(devsan.cli.__file__).with_name("chinese.json")
CHINESE = re.compile("[一-鿿]")
AROUND = {"usage: ", "commands", "The device sanitizer for PyTorch.", "{formats} or {other} (default: {first})"}


def sentences() -> Iterator[str]:
    """What the helps say; not the examples, which are indented."""
    for entry in main.COMMANDS:
        parser = parser_of(entry.command())
        yield entry.summary
        yield from (group.title or "" for group in parser._action_groups)
        yield from (getattr(action.help, "id", "") or action.help or "" for action in parser._actions)
        for text in (parser.description, parser.epilog):
            yield from (each for each in (text or "").split(PARAGRAPH) if not each.startswith("  "))


def test_every_sentence_has_its_translation_and_no_other() -> None:
    table = json.loads(FILE.read_text(encoding="utf-8"))["help"]
    said = set(filter(None, sentences())) | AROUND | {main._MORE}
    assert said - set(table) == set()
    assert {each for each in table if not each.startswith("  ")} - said == set()
    assert [english for english, chinese in table.items() if not CHINESE.search(chinese)] == []


@pytest.mark.parametrize("name", [entry.name for entry in main.COMMANDS])
def test_a_help_in_chinese(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("DEVSAN_LANG", "zh")
    with pytest.raises(SystemExit) as left:
        main.main([name, "--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0
    assert text.startswith(f"用法: devsan {name}") and "显示本帮助并退出" in text
    assert [line for line in text.splitlines() if re.match(r"  -|options|positional", line)
            and not CHINESE.search(line) and not line.endswith(("FILE", "N"))] == []  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["", *(entry.name for entry in main.COMMANDS)])
def test_a_help_keeps_to_80_columns(
    name: str, language: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEVSAN_LANG", language)
    monkeypatch.setenv("COLUMNS", "80")
    with contextlib.suppress(SystemExit):
        action = main._find_action([name, "--help"] if name else ["--help"])
        action()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5 and [line for line in lines if display_width(line) > 80] == []


def test_the_language_of_a_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def first(*words: str) -> str:
        with pytest.raises(SystemExit):
            main.main(words)
        return capsys.readouterr().out[:2]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEVSAN_LANG", "en")
    assert first("run", "--help") == "us"
    assert first("run", "--lang", "zh", "--help") == first("report", "--lang", "zh", "--help") == "用法"
    assert first("run", "--help", "--lang", "zh") == first("doctor", "--help", "--lang=zh") == "用法"
    for words in (["--help", "--lang", "zh"], ["--lang", "zh", "--help"], ["--lang=zh", "-h"]):
        assert main.main(words) == 0 and capsys.readouterr().out.startswith("用法: devsan COMMAND")
    monkeypatch.delenv("DEVSAN_LANG")
    (tmp_path / "pyproject.toml").write_text('[tool.devsan]\nlang = "zh"\n', encoding="utf-8")
    assert first("run", "--help") == first("report", "--help") == "用法"
    assert main.main(["--help"]) == 0 and capsys.readouterr().out.startswith("用法: devsan COMMAND")
    (tmp_path / "pyproject.toml").write_text("[tool.devsan]\ngpus = {}\n", encoding="utf-8")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv("LANGUAGE", raising=False)
    assert first("run", "--help") == "us"


def test_help_is_a_word_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["help"]) == 0 and capsys.readouterr().out.startswith("usage: devsan COMMAND")
    with pytest.raises(SystemExit):
        main.main(["help", "plan"])
    assert capsys.readouterr().out.startswith("usage: devsan plan")
    assert main.main(["help", "nothing"]) == 2 and "devsan --help" in capsys.readouterr().err
