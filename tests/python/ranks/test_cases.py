"""Programs in several ranks, most of them of users (named like the threads): cause, ranks, owner, fix, who waits."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from job_expectation import CASES, expectation

from devsan.render.language import language_named

pytest.importorskip("accelerate", reason="some of the programs drive accelerate, which is not installed")

CHINESE = language_named("zh")


@pytest.mark.drawn(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_the_first_cause_is_told(case: Path, tmp_path: Path, launched: Callable[..., Any]) -> None:
    text = case.read_text(encoding="utf-8")
    expected = expectation(text)
    job = launched(text, tmp_path / case.name, expected.gpus, expected.count, expected.environment, expected.memory)
    told = [(each["code"], each["ranks_text"], each["title"], each["evidence"]) for each in job["findings"]]
    assert told, job["codes"]
    first = job["findings"][0]
    assert first["code"] in expected.codes and first["ranks"] == expected.ranks, told
    assert first["severity"] == expected.severity
    if expected.fix != "-":
        fixes = expected.fix.split(" or ")
        assert any(part in fix["text"] for fix in first["fixes"] for part in fixes), first["fixes"]
    if expected.owner != "-":
        assert expected.owner in owners_of(first), told
    waiting = sorted({rank for line in first["victims"] for rank in ranks_in(line)})
    assert expected.waits in (None, waiting), first["victims"]
    assert first["evidence"] and first["rank"] == first["ranks_text"]
    assert (first["severity"] == "error") == any(job["codes"])
    untold = [text for finding in job["findings"] for text in texts_of(finding) if text and CHINESE.text(text) == text]
    assert untold == []


def texts_of(finding: dict[str, Any]) -> list[str]:
    """What the report says in words; of a rank's own finding what the job adds."""
    own = [finding["title"], *finding["evidence"], finding["naive_fix"]] if finding["of"] is None else []
    return [*own, *(fix["text"] for fix in finding["fixes"]), *finding["victims"]]


def owners_of(finding: dict[str, Any]) -> list[str]:
    """Who placed the operands of a rank's own finding; or whom a job's finding names."""
    names = ["program" for sentence in finding["evidence"] if "by this program" in sentence]
    names += [match[1] for sentence in finding["evidence"] if (match := re.search(r"by (torch\.[\w.]+)", sentence))]
    for operand in finding["operands"]:
        names += [event["owner"]["name"] for event in operand["provenance"]]
    return names


def ranks_in(line: str) -> list[int]:
    """The ranks at the beginning of "ranks 0, 2 and 4-5 wait in ..."."""
    match = re.match(r"ranks? ((?:\d+(?:-\d+)?(?:, | and )?)+)", line)
    assert match is not None, line
    found: list[int] = []
    for part in re.findall(r"\d+(?:-\d+)?", match[1]):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


WORKING = sorted((Path(__file__).parent / "working").glob("*.py"))


@pytest.mark.drawn(3)
@pytest.mark.parametrize("program", WORKING, ids=lambda program: program.stem)
def test_nothing_is_said_of_what_works(program: Path, tmp_path: Path, launched: Callable[..., Any]) -> None:
    text = program.read_text(encoding="utf-8")
    match = re.match(r"# gpus: (\d+) \| ranks: (\d+)", text)
    assert match is not None
    job = launched(text, tmp_path / program.name, int(match[1]), int(match[2]))
    assert not any(job["codes"]), job["documents"]
    assert job["findings"] == [], [(each["code"], each["title"], each["evidence"]) for each in job["findings"]]
