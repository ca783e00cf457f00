"""Each entry of known_issues.json: its bounds, its source, and how it reads."""

from __future__ import annotations

import re

import pytest

from devsan.doctor.known_issues import contains, data, known_issues, met, minimum_driver
from devsan.doctor.rules.known_defect import _CONDITIONS
from devsan.render.language import language_named

ENTRIES = {entry["name"]: entry for entry in data()["issues"]}


@pytest.mark.parametrize("issue", known_issues(), ids=lambda issue: issue.name)
def test_its_bounds(issue):
    entry = ENTRIES[issue.name]
    assert entry["inside"] and entry["outside"]
    for versions in entry["inside"]:
        assert set(versions) == set(issue.packages)
        assert met(issue, lambda name, versions=versions: versions.get(name, ""))
    for versions in entry["outside"]:
        assert not met(issue, lambda name, versions=versions: versions.get(name, ""))
    assert not met(issue, lambda name: "")


@pytest.mark.parametrize("issue", known_issues(), ids=lambda issue: issue.name)
def test_its_source_and_words(issue):
    assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/(issues|pull)/\d+", issue.source)
    assert issue.title[0].islower() and not issue.title.endswith(".")
    assert issue.evidence.endswith(".")
    assert set(issue.when) <= set(_CONDITIONS)
    assert issue.severity in ("error", "warning", "note")
    assert issue.confidence in ("certain", "likely", "possible")
    for text in (issue.title, issue.evidence, issue.fix, *issue.others):
        assert text.startswith("pip install ") or re.search("[\u4e00-\u9fff]", language_named("zh").text(text))


def test_no_issue_twice():
    assert len(ENTRIES) == len(data()["issues"])


@pytest.mark.parametrize(
    ("versions", "version", "inside"),
    [(">=2.4", "2.4.0+cu121", True), (">=2.4", "2.4.0.dev20240501", True), ("<2.4", "2.4.0a0+07cecf4.nv24.05", False),
     (">=2", "", False), (">=2", "unknown", False), ("==1.5.0", "1.5.0+cu101", True)],
)  # fmt: skip
def test_versions_are_read_as_pip_reads_them(versions, version, inside):
    assert contains(versions, version) is inside


def test_drivers():
    assert minimum_driver("12.6") == "525.60.13"
    assert minimum_driver("13.0") == "580.65.06"
    assert minimum_driver("9.0") == minimum_driver("") == ""
