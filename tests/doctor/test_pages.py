"""The pages of the doctor's codes: each example has its fault, and the fixed form has none."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devsan.diagnostics.codes import all_codes
from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.installed import Installed
from devsan.doctor.rules import RULES

ROOT = Path(__file__).parents[2]
PAGES = [code for code in all_codes() if code.startswith("DV4")]
OWN = [code for code in PAGES if code < "DV430"]  # the others: tests/doctor/live and tests/doctor/source
SECTIONS = {
    "en": ["What it is", "Example", "Why it happens", "How to fix it", "What not to do", "How it is recognized",
           "References"],
    "zh": ["这是什么", "示例", "为什么会这样", "怎么改", "不要这样做", "判断依据", "参考"],
}  # fmt: skip


def blocks(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_each_code_is_given_by_a_rule_and_no_other_is():
    assert {own_code(rule.__module__) for rule in RULES} == {*OWN, "DV301", "DV601"}
    assert len(RULES) == len(set(RULES))


@pytest.mark.parametrize("language", SECTIONS)
@pytest.mark.parametrize("code", PAGES)
def test_has_its_sections(code, language):
    text = all_codes()[code].page(language)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS[language]
    for body in re.split(r"^## .+$", text, flags=re.MULTILINE)[1:]:
        assert len(body.strip()) > 10, f"a section of {code} is empty"
    assert max(map(len, text.splitlines())) <= 200
    assert len(re.findall(r"^- https://github\.com/\S+$", text, re.MULTILINE)) >= 3


@pytest.mark.parametrize("code", PAGES)
def test_both_languages_have_the_same_code(code):
    english, chinese = all_codes()[code].page(), all_codes()[code].page("zh")
    assert blocks(english) == blocks(chinese)
    assert re.findall(r"https://\S+|`devsan doctor[^`]*`", english) == re.findall(
        r"https://\S+|`devsan doctor[^`]*`", chinese
    )
    assert english.splitlines()[0] == chinese.splitlines()[0]
    assert re.search("[一-鿿]", chinese.splitlines()[2])


def commands(code: str, language: str, block: str) -> tuple[list[str], dict[str, str], str]:
    """The words after ``devsan doctor``, what the shell set before, and the file that the block is."""
    if language == "sh":
        return shlex.split(block.strip().splitlines()[-1])[2:], {}, ""
    said = re.search(r"`devsan doctor ([^`]*)`", all_codes()[code].page())
    assert said is not None
    words = shlex.split(said[1])
    return words, {}, words[0]


def checked(code: str, language: str, block: str, setup: Any) -> list[Diagnostic]:
    words, _, file = commands(code, language, block)
    files, launch = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    setup.launch, setup.files, setup.environment = shlex.join(launch), list(files), {}
    if file:
        setup.write(file, block)
    installed = re.search(r"DeepSpeed (\d+\.\d+\.\d+) is installed", all_codes()[code].page())
    if installed:
        setup.packages.update(deepspeed=installed[1], numpy="1.26.4", torch="2.3.1", torchvision="0.18.1")
        setup.torch = replace(setup.torch, version="2.3.1", cuda="12.1")
    installed = re.search(r"transformers (\d+\.\d+\.\d+) is installed", all_codes()[code].page())
    if installed:
        setup.packages.update(transformers=installed[1])
        setup.installed = Installed()
    for line in block.splitlines()[:-1] if language == "sh" else []:
        match line.split():
            case ["export", assignment]:
                name, _, value = assignment.partition("=")
                setup.environment[name] = value
            case ["unset", name]:
                setup.environment.pop(name, None)
            case ["pip", "install", requirement]:
                name, _, version = requirement.partition("==")
                setup.packages[name] = version
                if name == "torch":
                    cuda = "12.6" if "+cu" in version else ""
                    setup.torch = replace(
                        setup.torch, version=version, cuda=cuda, archs=setup.torch.archs if cuda else ()
                    )
                    setup.packages["torchvision"] = "0.24.1"
            case _:
                for path in setup.folder.iterdir():
                    if line.startswith("echo"):  # the first line: the folder is as it was
                        path.unlink()
                subprocess.run(["bash", "-c", line], cwd=setup.folder, check=True, timeout=20)
    return setup.findings()


@pytest.mark.parametrize("code", OWN)
def test_the_example_has_its_fault(code, empty):
    (language, example), (kind, said), _ = blocks(all_codes()[code].page())
    assert kind == "text"
    found = checked(code, language, example, empty)
    assert [finding.code for finding in found] == [code]
    assert said.strip() in found[0].title


@pytest.mark.parametrize("code", OWN)
def test_the_fixed_form_has_none(code, empty):
    (language, example), _, (_, fixed) = blocks(all_codes()[code].page())
    assert example != fixed
    assert checked(code, language, fixed, empty) == []
