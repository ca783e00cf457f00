"""Each code has a page in two languages, whose example fails as the page says and whose fixed form runs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from devsan.diagnostics.codes import OF_STREAMS, all_codes

ROOT = Path(__file__).parents[2]
# Those of the doctor, DV4xx, are not found in a run: tests/doctor/test_pages.py tries them.
CODES = [code for code in all_codes() if not code.startswith("DV4")]
ALSO_IN_A_RUN = ["DV430"]
"""Codes of the doctor that a failure may have, too."""
# Nothing fails there: the example is the test that finds it, and it passes where copies arrive.
SILENT = {"DV601"}
# What an example imports beside torch.
LIBRARIES = ("accelerate", "transformers")

SECTIONS = {
    "en": [
        "What it is",
        "Example",
        "Why it happens",
        "How to fix it",
        "What not to do",
        "How it is recognized",
        "References",
    ],
    "zh": ["这是什么", "示例", "为什么会这样", "怎么改", "不要这样做", "判断依据", "参考"],
}


@dataclass
class Page:
    text: str

    def blocks(self, language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.*?)^```$", self.text, re.DOTALL | re.MULTILINE)

    @property
    def gpus(self) -> str:
        found = re.search(
            r"`devsan run --gpus (\d+)(?: --check \w+| --full-size| -- torchrun --nproc-per-node \d+ example\.py)?`",
            self.text,
        )
        assert found is not None
        return found[1]

    @property
    def check(self) -> list[str]:
        """The options with which it is found in a program that does not fail; none for what fails."""
        found = re.search(r"`devsan run --gpus \d+ (--check \w+|--full-size)`", self.text)
        return found[1].split() if found is not None else []

    @property
    def is_launched(self) -> bool:
        return "-- torchrun" in self.text


def read(code: str, language: str = "en") -> Page:
    return Page(all_codes()[code].page(language))


# Those of several ranks are run by test_launched.py.
LAUNCHED = {code for code in CODES if read(code).is_launched}
# Those that a check finds while the program runs: the example warns, and its exit code stays the program's.
CHECKED = {code for code in CODES if read(code).check}


def run(source: str, page: Page, folder: Path) -> subprocess.CompletedProcess[str]:
    for library in LIBRARIES:
        if f"from {library}" in source or f"import {library}" in source:
            pytest.importorskip(library, reason=f"the example is about {library}, which is not installed")
    (folder / "example.py").write_text(source, encoding="utf-8")
    environment = {
        name: text for name, text in os.environ.items() if name not in ("DEVSAN_OPTIONS", "CUDA_VISIBLE_DEVICES")
    }
    return subprocess.run(
        [sys.executable, "-m", "devsan", "run", "--gpus", page.gpus, *page.check, "example.py"],
        cwd=folder,
        env={**environment, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_core_was_built_with_the_manifests() -> None:
    pytest.importorskip("torch")
    from devsan import _core

    built = {code.code: (code.name, code.summary, code.naive_fix) for code in _core.codes()}
    assert built == {
        each.code: (each.name, each.summary["en"], each.naive_fix.get("en", "")) for each in all_codes().values()
    }


def test_each_manifest_has_both_languages() -> None:
    for code in all_codes().values():
        for texts in (code.summary, code.naive_fix):
            assert set(texts) in ({"en", "zh"}, set()), code.name
            assert not texts or re.search("[一-鿿]", texts["zh"]), code.name
        assert code.summary, code.name
        assert {path.name for path in (ROOT / "codes" / code.name).iterdir()} == {
            "manifest.toml", "page.md", "page.zh.md",
        }  # fmt: skip


def test_the_index_is_that_of_the_manifests() -> None:
    spec = importlib.util.spec_from_file_location("generate_codes", ROOT / "tools" / "generate_codes.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert (ROOT / "codes/README.md").read_text(encoding="utf-8") == tool.index(tool.manifests())


def test_every_code_of_a_run_has_a_detector_that_is_named_as_it() -> None:
    folder = ROOT / "core/diagnose"
    detected = {path.stem.replace("_", "-") for path in folder.glob("*causes/*.cpp")}
    assert detected == {all_codes()[code].name for code in (*CODES, *ALSO_IN_A_RUN) if code not in CHECKED}


def test_every_code_of_a_check_is_one_that_the_check_tells() -> None:
    pytest.importorskip("torch")
    from devsan.full_size import reads

    assert {*OF_STREAMS.values(), reads.NAME} == {all_codes()[code].name for code in CHECKED}


@pytest.mark.parametrize("language", SECTIONS)
@pytest.mark.parametrize("code", CODES)
def test_has_its_sections(code: str, language: str) -> None:
    page = read(code, language)
    assert re.findall(r"^## (.+)$", page.text, re.MULTILINE) == SECTIONS[language]
    for body in re.split(r"^## .+$", page.text, flags=re.MULTILINE)[1:]:
        assert len(body.strip()) > 10, f"a section of {code} is empty"
    assert len(page.blocks("python")) == 2
    assert all(len(block.splitlines()) < 25 for block in page.blocks("python"))
    assert max(map(len, page.text.splitlines())) <= 200
    assert len(re.findall(r"^- https://github\.com/\S+$", page.text, re.MULTILINE)) >= 3


@pytest.mark.parametrize("code", CODES)
def test_both_languages_have_the_same_code(code: str) -> None:
    english, chinese = read(code), read(code, "zh")
    for language in ("python", "text"):
        assert english.blocks(language) == chinese.blocks(language)
    assert (english.gpus, english.check) == (chinese.gpus, chinese.check)
    assert re.findall(r"https://\S+", english.text) == re.findall(r"https://\S+", chinese.text)
    assert english.text.splitlines()[0] == chinese.text.splitlines()[0]
    assert re.search("[一-鿿]", chinese.text.splitlines()[2])


# Two processes a page; test_examples.py runs the same programs in its own process.
@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("code", [code for code in CODES if code not in SILENT | LAUNCHED])
def test_the_example_fails_as_the_page_says(code: str, tmp_path: Path) -> None:
    page = read(code)
    done = run(page.blocks("python")[0], page, tmp_path)
    (sentence,) = page.blocks("text")
    assert done.returncode == (0 if code in CHECKED else 1), done.stderr
    assert code in done.stderr
    assert sentence.strip() in done.stderr


@pytest.mark.parametrize("code", SILENT)
def test_the_self_test_passes_where_copies_arrive(code: str, tmp_path: Path) -> None:
    page = read(code)
    done = run(page.blocks("python")[0], page, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.rare
@pytest.mark.parametrize("code", [code for code in CODES if code not in LAUNCHED])
def test_the_fixed_form_runs(code: str, tmp_path: Path) -> None:
    page = read(code)
    done = run(page.blocks("python")[1], page, tmp_path)
    assert done.returncode == 0, done.stderr
    assert code not in done.stderr
    assert page.blocks("python")[0] != page.blocks("python")[1]
