"""Runs as SARIF. The schema is the standard's, in the form of the classes that pydantic-sarif generates from it."""

from __future__ import annotations

import copy
import json

import pytest

from devsan.render import sarif

pydantic_sarif = pytest.importorskip("pydantic_sarif.model", reason="the standard's schema is in pydantic-sarif")


def log_of(*runs: dict) -> dict:
    log = json.loads(sarif.render(runs))
    pydantic_sarif.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(log)
    return log


def test_the_schema_can_refuse(failed):
    log = json.loads(sarif.render([failed.run]))
    log["runs"][0]["results"][0]["mood"] = "bad"
    with pytest.raises(ValueError, match="mood"):
        pydantic_sarif.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(log)


@pytest.mark.parametrize("home", [None, "https://example.org/devsan"])
def test_the_page_of_a_rule_has_a_web_address_or_none(failed, monkeypatch, home):
    monkeypatch.setattr(sarif, "_home_page", lambda: home)
    (rule,) = log_of(failed.run)["runs"][0]["tool"]["driver"]["rules"]
    assert rule.get("helpUri") == (home and f"{home}/codes/fresh-tensor/page.md")


def test_a_finding(failed):
    (run,) = log_of(failed.run)["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"]) == ("DV102", "fresh-tensor")
    assert rule["help"]["markdown"].startswith("# DV102 ")
    (result,) = run["results"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("DV102", 0, "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "program.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 8, "startColumn": 5, "endLine": 8, "endColumn": 6}
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == failed.folder.resolve().as_uri() + "/"
    assert run["columnKind"] == "unicodeCodePoints"
    related = {
        each["physicalLocation"]["region"]["startLine"]: each["message"]["text"] for each in result["relatedLocations"]
    }
    assert related[3] == "a was placed on cuda:0 by this program"
    assert related[5] == "b was placed on cuda:1 by this program"
    finding = failed.run["findings"][0]
    assert result["partialFingerprints"] == {"devsanFailure/v1": finding["id"], "devsanCause/v1": finding["cause"]}
    assert run["invocations"][0]["exitCode"] == 1
    assert run["invocations"][0]["executionSuccessful"] is False


def edited(run: dict, **changes: object) -> dict:
    run = copy.deepcopy(run)
    path = run["process"]["directory"] + "/program.py"
    edit = {
        "file": "program.py", "path": path, "line": 8, "column": 1, "end_line": 8, "end_column": 6, "before": "a + b",
        "after": "a + b.to(a.device)", "safe": True, **changes,
    }  # fmt: skip
    fix = {"kind": "use_site", "text": "move it", "confidence": "likely", "edits": [edit]}
    run["findings"][0]["fixes"] = [fix]
    return run


def test_a_mechanical_edit_is_a_fix(failed):
    result = log_of(edited(failed.run))["runs"][0]["results"][0]
    (fix,) = result["fixes"]
    assert fix["description"]["text"] == "move it (likely)"
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"] == {"uri": "program.py", "uriBaseId": "%SRCROOT%"}
    (replacement,) = change["replacements"]
    region = replacement["deletedRegion"]
    assert region == {"startLine": 8, "startColumn": 1, "endLine": 8, "endColumn": 6}
    line = (failed.folder / "program.py").read_text(encoding="utf-8").splitlines()[7]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "a + b"
    assert replacement["insertedContent"]["text"] == "a + b.to(a.device)"


@pytest.mark.parametrize("change", [{"safe": False}, {"path": "/v/site-packages/lib/a.py"}])
def test_sketches_and_libraries_are_not_fixed(failed, change):
    assert "fixes" not in log_of(edited(failed.run, **change))["runs"][0]["results"][0]


def test_a_finding_without_a_cause(failed):
    run = copy.deepcopy(failed.run)
    run["findings"][0].update(code=None, name="", operands=[], involved=[], fixes=[], stack=[], cause="")
    (rule,) = log_of(run)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["id"] == "device-failure"


def test_undecided_findings_share_a_rule(failed):
    run = copy.deepcopy(failed.run)
    run["findings"] = [{**run["findings"][0], "code": "DV000", "name": "undecided", "id": str(n)} for n in range(2)]
    (made,) = log_of(run)["runs"]
    assert [rule["id"] for rule in made["tool"]["driver"]["rules"]] == ["DV000"]
    assert [result["ruleIndex"] for result in made["results"]] == [0, 0]


def test_killed_runs_and_ranks(failed):
    runs = [copy.deepcopy(failed.run) for _ in range(2)]
    for rank, run in enumerate(runs):
        run["process"].update(rank=rank, world_size=2)
        run["end"] = None
    made = log_of(*runs)["runs"]
    assert [run["automationDetails"]["id"] for run in made] == ["devsan/rank0/", "devsan/rank1/"]
    assert all("exitCode" not in run["invocations"][0] for run in made)


def test_odd_paths(failed):
    run = copy.deepcopy(failed.run)
    site = run["findings"][0]["sites"][0]
    site["path"] = run["process"]["directory"] + "/ä b#.py"
    assert log_of(run)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == (
        "%C3%A4%20b%23.py"
    )
    site["path"] = site["file"] = "<string>"
    [location] = log_of(run)["runs"][0]["results"][0]["locations"]
    assert location == {"logicalLocations": [{"fullyQualifiedName": "<string>"}]}
