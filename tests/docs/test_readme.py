"""The README shows commands and what they print. Both are true, in both languages."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
READMES = ["README.md", "README.zh.md"]


def blocks(name: str, language: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def sessions(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines shown under it."""
    shown: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            shown.append((line[2:], []))
        else:
            shown[-1][1].append(line)
    return shown


def without_comments(block: str) -> list[str]:
    return [line.split("  # ")[0].split(" # ")[0].rstrip() for line in block.splitlines()]


def run(command: str, language: str) -> str:
    program, *arguments = shlex.split(command)
    assert program == "devsan"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8",
                   "LC_ALL": language}  # fmt: skip
    result = subprocess.run(
        [sys.executable, "-m", "devsan", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    return result.stdout


def first_screens() -> list[Any]:
    """The commands of both pages' first block; the Chinese page has the English one's search for a fix."""
    found = []
    for name, language in zip(READMES, ("C.UTF-8", "zh_CN.UTF-8"), strict=True):
        for number, (command, shown) in enumerate(sessions(blocks(name, "console")[0])):
            marks = [pytest.mark.rare] if name == READMES[1] and command.startswith("devsan fix") else []
            found.append(pytest.param(command, shown, language, marks=marks, id=f"{language[:2]}-{number}"))
    return found


@pytest.mark.long
@pytest.mark.parametrize(("command", "shown", "language"), first_screens())
def test_the_first_screen_is_what_the_commands_print(command: str, shown: list[str], language: str) -> None:
    printed = [line.rstrip() for line in run(command, language).splitlines()]
    expected = [line for line in shown if line != "..."]
    assert expected, "a command without output shows nothing"
    start = printed.index(expected[0])
    assert printed[start : start + len(expected)] == expected


@pytest.mark.parametrize("language", ["console", "python"])
def test_both_languages_show_the_same_code(language: str) -> None:
    english, chinese = (blocks(name, language) for name in READMES)
    shown = 1 if language == "console" else 0  # the first block has what is printed, in the page's own language
    assert [without_comments(block) for block in english[shown:]] == [
        without_comments(block) for block in chinese[shown:]
    ]
    for one, other in zip(english[:shown], chinese[:shown], strict=True):
        assert [command for command, _ in sessions(one)] == [command for command, _ in sessions(other)]


@pytest.mark.parametrize("name", [*READMES, "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/limits.md"])
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_command_of_the_readme_exists() -> None:
    commands = {
        command.split()[0] for block in blocks("README.md", "console") for command, _ in sessions(block) if command
    }
    assert commands <= {"devsan", "eval", "make", "pip", "pytest", 'DEVSAN_OPTIONS="gpus=4:profile=a100-80g"'}
    targets = re.findall(r"^\$ make ([\w-]+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target} is in the README only"


def test_continuous_integration_runs_the_tests_that_the_readme_names() -> None:
    """make test is pytest's default, and what CI runs behind it is what make test-all adds, but for the rare."""
    script, makefile, project = (
        (ROOT / name).read_text(encoding="utf-8") for name in (".ci/run", "Makefile", "pyproject.toml")
    )
    commands = [line.split(" || ")[0] for line in script.splitlines() if line.startswith(("make", "tools"))]
    assert commands[-2:] == ["make --no-print-directory test", 'tools/pytest.sh -m "long and not rare"']
    assert '"-m", "not frameworks and not long"' in project
    assert re.search(r'^test-all:.*\n\t@tools/test.sh -m "not frameworks"$', makefile, re.MULTILINE)
    assert re.search(r"^test:.*\n\t@tools/test.sh$", makefile, re.MULTILINE)
