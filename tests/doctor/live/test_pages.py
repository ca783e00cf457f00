"""The pages of the codes that only live models give, and what the guide shows of `devsan.doctor`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import devsan
from devsan.diagnostics.codes import all_codes
from devsan.diagnostics.detectors import own_code
from devsan.doctor.live.rules import RULES

ROOT = Path(__file__).parents[3]
OWN = [code for code in all_codes() if "DV430" <= code < "DV450"]  # the rest are causes of failed runs as well


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_each_code_of_live_models_alone_has_a_rule() -> None:
    assert {own_code(rule.__module__) for rule in RULES} > set(OWN)


@pytest.mark.parametrize("code", OWN)
def test_the_example_has_its_fault_and_the_fixed_form_has_none(code: str, check: Callable[..., Any]) -> None:
    text = all_codes()[code].page()
    example, fixed = blocks(text, "python")
    for library in ("accelerate", "bitsandbytes"):
        if f"import {library}" in text or f"from {library}" in text:
            pytest.importorskip(library, reason=f"the example is about {library}, which is not installed")
    gpus = re.search(r"`devsan run --gpus (\d)`", text)
    assert gpus is not None
    ask = '\nfound = devsan.doctor(net, globals().get("optimizer"))'
    checked = check(example + ask, int(gpus[1]))
    assert checked.codes == [code], checked.said
    [shown] = blocks(text, "text")
    assert shown.strip() in checked.found[0].title
    assert check(fixed + ask, int(gpus[1])).found == []


def test_the_guide_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("accelerate", reason="the guide's program dispatches a model by accelerate")
    guide = (ROOT / "docs/guide/doctor.md").read_text(encoding="utf-8")
    section = guide.partition("## The live model")[2].partition("\n## ")[0]
    [program], [command], [shown] = (blocks(section, language) for language in ("python", "console", "text"))
    assert command == "$ devsan run --gpus 2 train.py\n"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DEVSAN_LANG", "en")
    file = tmp_path / "train.py"
    file.write_text(program, encoding="utf-8")
    with devsan.emulate(gpus=2):
        exec(compile(program, str(file), "exec"), {"__name__": "__main__", "__file__": str(file)})
    assert capsys.readouterr().out == shown
