"""Each page's example stops with the sentence that the page shows and yields its code; fixed it runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from translation import left_in_english

from devsan.diagnostics.codes import all_codes

SILENT = {"DV601"}  # nothing fails: copies arrive damaged, which emulated links do not do
# Those of the doctor, DV4xx, are not found in a run: tests/doctor/test_pages.py tries them.
PAGES = {code.code: code.page() for code in all_codes().values() if not code.code.startswith("DV4")}
# Nothing fails there: a module of DevSan, which an option starts, tells of it while the program goes on.
TELLING = {
    "--check streams`": ("streams.watch", {"check": "streams"}),
    "--full-size`": ("full_size.reads", {"full_size": True}),
}
CHECKED = {code: by for code, page in PAGES.items() for option, by in TELLING.items() if option in page}
# Several ranks: test_launched.py runs them.
CODES = [code for code, page in PAGES.items() if "-- torchrun" not in page and code not in CHECKED]


def sections(code: str) -> dict[str, str]:
    return dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGES[code], re.S | re.M))


def programs(section: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", section, re.S)


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("accelerate", reason="the examples drive accelerate, which is not installed")
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert "DEVSAN_OPTIONS" not in os.environ


@pytest.mark.parametrize("code", [code for code in CODES if code not in SILENT])
def test_the_example_yields_its_code(code: str, tmp_path: Path, explained: Callable[[str, Path, int], Any]) -> None:
    section = sections(code)["Example"]
    gpus = re.search(r"devsan run --gpus (\d+)", section)
    assert gpus is not None, f"expected how many GPUs the example of {code} needs"
    [program] = programs(section)
    file = tmp_path / "example.py"
    file.write_text(program, encoding="utf-8")
    explanation = explained(program, file, int(gpus[1]))
    assert explanation is not None, f"expected the example of {code} to fail"
    finding = explanation.findings[0]
    assert finding.code == code, f"{finding.title}: {list(finding.evidence)} {list(finding.candidates)}"
    assert left_in_english(finding) == []
    shown = re.search(r"```text\n(.*?)```", section, re.S)
    if shown is not None:
        said = " ".join(explanation.facts.failure.sentence.split())
        assert " ".join(shown[1].split()) in said


@pytest.mark.parametrize("code", CODES)
def test_fixed_it_runs(code: str, tmp_path: Path, explained: Callable[[str, Path, int], Any]) -> None:
    parts = sections(code)
    gpus = re.search(r"devsan run --gpus (\d+)", parts["Example"])
    assert gpus is not None
    for program in programs(parts["How to fix it"]):
        file = tmp_path / "fixed.py"
        file.write_text(program, encoding="utf-8")
        explanation = explained(program, file, int(gpus[1]))
        assert explanation is None, explanation and explanation.facts.failure.sentence


def told(code: str, program: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the module that finds ``code`` tells of a program's text, written to ``file``."""
    import devsan

    found: list[Any] = []
    module, options = CHECKED[code]
    monkeypatch.setattr(f"devsan.{module}.write", lambda report, stream: found.append(report))
    file.write_text(program, encoding="utf-8")
    with devsan.emulate(gpus=1, **options):
        exec(compile(program, str(file), "exec"), {"__name__": "__main__", "__file__": str(file)})
    return found


@pytest.mark.parametrize("code", CHECKED)
def test_the_check_tells_of_the_example(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = sections(code)["Example"]
    [program], [shown] = programs(section), re.findall(r"```text\n(.*?)\n```", section, re.S)
    finding = told(code, program, tmp_path / "example.py", monkeypatch)[0]
    assert (finding.code, str(finding.title)) == (code, shown)
    assert left_in_english(finding) == []


@pytest.mark.parametrize("code", CHECKED)
def test_the_check_is_silent_about_the_fixed_form(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [program] = programs(sections(code)["How to fix it"])
    assert told(code, program, tmp_path / "fixed.py", monkeypatch) == []


def test_pages_were_found() -> None:
    assert len(CODES) > 15
    assert len(CHECKED) == 4
