"""The examples of codes that only several ranks show: in ranks they yield their code, and fixed they run clean."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devsan.diagnostics.codes import all_codes

COMMAND = re.compile(r"`devsan run --gpus (\d+) -- torchrun --nproc-per-node (\d+) example\.py`")


def launched_pages() -> dict[str, str]:
    pages = {code.code: code.page() for code in all_codes().values()}
    return {code: text for code, text in pages.items() if COMMAND.search(text)}


LAUNCHED = launched_pages()


@pytest.fixture(autouse=True)
def libraries(request: pytest.FixtureRequest) -> None:
    if "from accelerate" in LAUNCHED[request.node.callspec.params["code"]]:
        pytest.importorskip("accelerate", reason="the example is about accelerate, which is not installed")


def run(launched: Callable[..., Any], code: str, block: int, folder: Path) -> tuple[Any, str]:
    text = LAUNCHED[code]
    command = COMMAND.search(text)
    assert command is not None
    program = re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)[block]
    shown = re.search(r"^```text\n(.*?)^```$", text, re.S | re.M)
    assert shown is not None
    return launched(program, folder / "example.py", int(command[1]), int(command[2])), shown[1].strip()


@pytest.mark.parametrize("code", LAUNCHED)
def test_the_example_yields_its_code(code: str, tmp_path: Path, launched: Callable[..., Any]) -> None:
    job, shown = run(launched, code, 0, tmp_path)
    found = job["findings"]
    assert found and found[0]["code"] == code, [(each["code"], each["title"], each["evidence"]) for each in found]
    ends_well = not any(job["codes"])
    assert ends_well == (found[0]["severity"] == "warning"), job["codes"]
    sentences = [document["facts"]["end"].get("sentence", "") for document in job["documents"] if "facts" in document]
    own = [finding["sentence"] for document in job["documents"] for finding in document.get("findings", ())]
    assert any(shown in said for said in (found[0]["title"], *sentences, *own)), (found[0]["title"], sentences)
    assert found[0]["evidence"] and found[0]["fixes"]


@pytest.mark.parametrize("code", LAUNCHED)
def test_fixed_it_runs_clean(code: str, tmp_path: Path, launched: Callable[..., Any]) -> None:
    job, _ = run(launched, code, 1, tmp_path)
    assert job["codes"] == [0] * len(job["codes"])
    assert job["findings"] == []
