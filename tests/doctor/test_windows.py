"""Each window of windows.json: its bounds, its source, and how it reads."""

from __future__ import annotations

import re

import pytest

from devsan.doctor.language import speaks
from devsan.doctor.rules.known_defect import _CONDITIONS
from devsan.doctor.windows import contains, data, met, minimum_driver, translations, windows

ENTRIES = {entry["name"]: entry for entry in data()["windows"]}


@pytest.mark.parametrize("window", windows(), ids=lambda window: window.name)
def test_its_bounds(window):
    entry = ENTRIES[window.name]
    assert entry["inside"] and entry["outside"]
    for versions in entry["inside"]:
        assert set(versions) == set(window.packages)
        assert met(window, lambda name, versions=versions: versions.get(name, ""))
    for versions in entry["outside"]:
        assert not met(window, lambda name, versions=versions: versions.get(name, ""))
    assert not met(window, lambda name: "")


@pytest.mark.parametrize("window", windows(), ids=lambda window: window.name)
def test_its_source_and_words(window):
    assert re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/(issues|pull)/\d+", window.source)
    assert window.title[0].islower() and not window.title.endswith(".")
    assert window.evidence.endswith(".")
    for text in (window.title, window.evidence, window.repair, *window.others):
        assert text.startswith("pip install ") or re.search("[\u4e00-\u9fff]", translations()[text])
        assert speaks("zh").text(text) == translations().get(text, text)
    assert set(window.when) <= set(_CONDITIONS)
    assert window.severity in ("error", "warning", "note")
    assert window.confidence in ("certain", "likely", "possible")


def test_no_window_twice():
    assert len(ENTRIES) == len(data()["windows"])


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
