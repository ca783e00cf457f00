"""A sweep on a terminal in both languages, as a page, as JSON and as JUnit's XML."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from pages import documents, states
from pages.parsed import Page

from devsan.diagnostics.messages import message, restored
from devsan.render import junit
from devsan.render.cell_names import together
from devsan.render.html import sweep as html
from devsan.render.json import render_sweep
from devsan.render.terminal.sweep import write
from devsan.sweep.result import CellResult, Check, Group, GroupFix, SweepResult

ROOT = Path(__file__).parents[3]
DIFF = "--- a/train.py\n+++ b/train.py\n@@ -1,1 +1,1 @@\n-a\n+b\n"
MOVE = message("move `{name}` to {device} where it is used", name="noise", device="hidden.device")
"""A sentence whose Chinese another part has is not needed here: names are what is looked for."""


def tried(status: str, **known: Any) -> dict[str, Any]:
    return {"status": status, "texts": [MOVE], "diff": DIFF, **known}


FIX = GroupFix(
    "gpus=2 map=auto",
    {"fixes": [tried("verified"), tried("rejected")], "patch": {"message": "Move it\n\nwhy", "diff": "x"}},
    (Check("gpus=4 map=auto", "verified"),), (Check("gpus=4 map=auto", "rejected"),),
)  # fmt: skip


def cell(gpus: int, map: str, status: Any, group: str = "", reason: str = "") -> CellResult:
    values = {"gpus": str(gpus), "map": map}
    return CellResult(f"k{gpus}{map}", f"gpus={gpus} map={map}", values, status, 1.25, 0, reason, "", group)


@pytest.fixture
def result() -> SweepResult:
    finding = documents.finding()
    killed = message("killed by {signal}", signal="SIGKILL")
    cells = (
        cell(2, "auto", "failed", "g1", finding["headline"]), cell(2, "balanced", "passed"),
        cell(4, "auto", "failed", "g1", finding["headline"]), cell(4, "balanced", "killed", "g2", killed),
    )  # fmt: skip
    groups = (
        Group("g1", "failed", finding["code"], finding["name"], finding["headline"], "train.py:12",
              ("gpus=2 map=auto", "gpus=4 map=auto"), "gpus=2 map=auto", finding),
        Group("g2", "killed", "", "", killed, "", ("gpus=4 map=balanced",), "gpus=4 map=balanced", None,
              "last\nwords <b>"),
    )  # fmt: skip
    axes = {"gpus": ("2", "4"), "map": ("auto", "balanced")}
    return SweepResult("/x/sweep.toml", ("train.py", "{map}"), "/x", axes, cells, groups, 5.0)


def shown(result: SweepResult, language: str = "en") -> str:
    stream = io.StringIO()
    write(result, stream, language)
    return stream.getvalue()


def test_the_terminal(result: SweepResult) -> None:
    text = shown(result)
    assert text.startswith(
        "\nsweep.toml: 4 cells: 1 passed, 2 failed, 1 killed\n\n"
        "        map=auto  map=balanced\ngpus=2  failed    passed\ngpus=4  failed    killed\n\n"
        "1. DV104 reduction-boundary: "
    )
    assert (
        "   --> train.py:12\n   2 cells: gpus=2 map=auto; gpus=4 map=auto\n\nreport of gpus=2 map=auto:\nerror[DV104]"
        in text
    )
    assert "\n2. killed: killed by SIGKILL\n   1 cell: gpus=4 map=balanced\n" in text
    assert text.endswith("end of the output of gpus=4 map=balanced:\n  last\n  words <b>\n")


def test_the_terminal_with_a_fix(result: SweepResult) -> None:
    text = shown(replace(result, groups=(replace(result.groups[0], fix=FIX), result.groups[1])))
    assert "   fixed: move `noise` to hidden.device where it is used (verified in 1 of 1\n" in text
    assert "   patch: Move it (verified in 0 of 1 other cells, too)\n" in text
    assert "\n      --> train.py:1\n     1 - a\n     1 + b\n   patch: " in text
    none = GroupFix("gpus=2 map=auto", {"fixes": [tried("rejected"), tried("offered")], "patch": None})
    text = shown(replace(result, groups=(replace(result.groups[0], fix=none),)))
    assert "   not fixed: 1 change was tried, and the program does not end with the" in text


def test_chinese(result: SweepResult) -> None:
    text = shown(replace(result, groups=(replace(result.groups[0], fix=FIX), result.groups[1])), "zh")
    for part in ("1 通过, 2 失败, 1 被终止", "被 SIGKILL 终止", "gpus=4 map=balanced 的输出末尾", "也已验证"):
        assert part in text


def test_a_large_sweep_shows_sums(result: SweepResult) -> None:
    cells = tuple(
        replace(
            cell(gpus, str(number), "failed" if number % 10 == 0 and gpus == 4 else "passed"), key=f"{gpus}.{number}"
        )
        for number in range(100)
        for gpus in (2, 4)
    )
    many = replace(result, axes={"gpus": ("2", "4"), "map": tuple(map(str, range(100)))}, cells=cells, groups=())
    assert "        passed  failed\ngpus=2     100       0\ngpus=4      90      10\n" in shown(many)
    assert "\n\n        gpus=2    gpus=4\nmap=0   passed    failed\nmap=10  passed    failed\n" in shown(many)
    assert "map=1 " not in shown(many)  # it has not failed
    groups = tuple(replace(result.groups[1], id=str(number)) for number in range(25))
    assert "\nand 5 more groups: --format html shows them\n" in shown(replace(result, groups=groups))


def test_cells_that_differ_in_their_last_value_stand_together() -> None:
    names = ["model=a gpus=2", "model=a gpus=4", "model=b gpus=4", "alone", "gpus=2"]
    assert together(names) == [("model=a gpus=2,4", 2), ("model=b gpus=4", 1), ("alone", 1), ("gpus=2", 1)]


def test_json(result: SweepResult) -> None:
    document = json.loads(render_sweep(replace(result, groups=(replace(result.groups[0], fix=FIX), result.groups[1]))))
    folder = ROOT / "docs" / "reference"
    schemas = {name: json.loads((folder / name).read_text(encoding="utf-8")) for name in
               ("sweep.schema.json", "fix.schema.json", "run.schema.json")}  # fmt: skip
    from referencing import Registry, Resource

    registry: Any = Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in schemas.items()
    )
    del schemas["sweep.schema.json"]["$defs"]["group_fix"]["properties"]["result"]["$ref"]  # a short one stands here
    validator = jsonschema.Draft202012Validator(schemas["sweep.schema.json"], registry=registry)
    assert [error.message for error in validator.iter_errors(document)] == []
    assert document["counts"] == {"passed": 1, "failed": 2, "killed": 1}
    assert restored(document)["groups"][1]["headline"].id == "killed by {signal}"
    for key in ("version", "cells", "groups"):
        broken = {name: value for name, value in document.items() if name != key}
        assert not validator.is_valid(broken)


def test_junit(result: SweepResult) -> None:
    suites = ElementTree.fromstring(junit.render(result))
    assert suites.attrib == {"tests": "4", "failures": "2", "errors": "1", "skipped": "0", "time": "5.00"}
    cases = {case.get("name"): case for case in suites.iter("testcase")}
    failure = cases["gpus=2 map=auto"].find("failure")
    assert failure is not None and failure.get("type") == "DV104 reduction-boundary"
    assert "train.py:12" in str(failure.text) and documents.SENTENCE in str(failure.text)
    assert cases["gpus=4 map=balanced"].find("error") is not None
    assert list(cases["gpus=2 map=balanced"]) == []


def test_junit_without_characters_that_xml_forbids(result: SweepResult) -> None:
    broken = replace(result.cells[3], output="\x1b[31mred\x00", reason="\x07")
    suites = ElementTree.fromstring(junit.render(replace(result, cells=(broken,), groups=())))
    assert suites.find(".//error") is not None


def test_the_page(result: SweepResult) -> None:
    page = Page(html.render(replace(result, groups=(replace(result.groups[0], fix=FIX), result.groups[1]))))
    text = page.text("en")
    for part in ("4 cells", "1 passed, 2 failed, 1 killed", "gpus=4 map=balanced", "DV104", "train.py:12",
                 documents.SENTENCE, "verified in 1 of 1 other cells, too", "last words <b>"):  # fmt: skip
        assert part in text, part
    assert "4 个单元" in page.text("zh")


def test_the_page_has_the_verified_fix_once_as_a_report_has_it() -> None:
    html_text = html.render(states.swept())
    assert html_text.count('<span class="changed">.to(logits.device)</span>') == 1
    text = Page(html_text).text()
    assert (
        "modeling.py:88 88-loss = F.cross_entropy(logits, labels) 88+loss = F.cross_entropy(logits, labels.to(" in text
    )
    assert text.count("move labels to the device of logits") == 1
    assert "Other ways to fix it put lm_head beside the embedding" in text
