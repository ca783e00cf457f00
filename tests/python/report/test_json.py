"""Runs as JSON documents, and reports through JSON and back."""

from __future__ import annotations

import copy
import io
import json

import jsonschema
import pytest
from recorded import validate

from devsan.diagnostics.messages import restored
from devsan.job.recorded import write
from devsan.report import json as as_json
from devsan.report.codec import from_plain, to_plain
from devsan.report.facts import Cause, Edit, Fix, Label, Operand, Placed, Placement, Report, Site
from devsan.report.records import fix_of
from devsan.report.run_text import report_of


def test_one_run_is_its_document(failed):
    document = json.loads(as_json.render([failed.run]))
    validate(document)
    assert restored(document) == failed.run


def test_several_runs_are_an_array(failed):
    documents = json.loads(as_json.render([failed.run, failed.run]))
    assert [restored(each) for each in documents] == [failed.run, failed.run]


def test_the_schema_can_refuse(failed):
    for change in ("version", "findings", "gpus"):
        broken = copy.deepcopy(failed.run)
        del broken[change]
        with pytest.raises(jsonschema.ValidationError):
            validate(broken)


def test_the_whole_diagnosis_is_there(failed):
    (finding,) = failed.run["findings"]
    assert finding["code"] == "DV102"
    assert finding["name"] == "fresh-tensor"
    assert finding["evidence"]
    assert finding["naive_fix"]
    assert finding["fixes"]
    first = finding["operands"][finding["involved"][0]]
    (made, *_) = first["provenance"]
    assert (made["kind"], made["owner"]["name"], made["site"]["line"]) == ("made", "program", 3)
    assert made["frames"][0]["source"].startswith('a = torch.ones(1024, device="cuda:0")')


REPORT = Report(
    "a title", "torch's sentence",
    (Site("a.py", 3, 5, {3: "    a + b"}, (Label(3, 4, 5, ("cuda:0",)), Label(3, 8, 9, (), True)), "", "/x/a.py"),),
    (Operand("x", Placement("cuda:1", "float32", (2, 3)), True), Operand(None, None)),
    ("a note",), "1",
    Cause(
        "DV104", (Placed("x", Placement("cuda:1"), site=Site("b.py", 1)),),
        Fix("do it", "likely", Edit("a.py", 3, "a + b", "a + b.to(a.device)")), (("DV101", "name"),),
    ),
)  # fmt: skip


def test_a_report_comes_back_as_it_was():
    assert from_plain(Report, json.loads(json.dumps(to_plain(REPORT)))) == REPORT


def test_fields_of_another_version_do_not_matter():
    plain = to_plain(REPORT)
    plain["weather"] = "fine"
    del plain["notes"]
    assert from_plain(Report, plain).notes == ()


@pytest.mark.parametrize("change", [{"title": None}, {"sites": {}}, {"rank": 1}, {"operands": [{"name": 3}]}])
def test_a_report_that_is_damaged(change):
    with pytest.raises(ValueError, match="expected"):
        from_plain(Report, {**to_plain(REPORT), **change})


def test_the_terminal_shows_what_was_printed(failed):
    stream = io.StringIO()
    write([failed.run], stream)
    printed = failed.error[failed.error.index("\nerror[") : failed.error.index("devsan: the run is in")]
    assert stream.getvalue().startswith(printed)
    assert report_of(failed.run["findings"][0]) is not None


def test_edits_that_could_not_run_are_sketches(tmp_path):
    from devsan import emulate

    with emulate():
        from devsan import _core

    source = tmp_path / "made.py"
    source.write_text("    a = torch.ones(3, device='cuda:0')  # first\n    b = a + c\n", encoding="utf-8")

    class Edited:
        def __init__(self, before, after, line=1, kind=_core.FixKind.CREATION_SITE):
            self.kind, self.text, self.confidence = kind, "make it there", _core.Confidence.LIKELY
            self.edit = type("E", (), {"file": str(source), "line": line, "before": before, "after": after})()

    made = "a = torch.ones(3, device='cuda:0')"
    unknown = fix_of(Edited(made, "a = torch.ones(3, device=c.device)"))
    assert unknown["text"] == "make it there"
    assert unknown["edit"]["applicable"] is False
    fits = fix_of(Edited(made, "a = torch.ones(3, device='cuda:1')"))["edit"]
    assert fits["applicable"] is True
    assert (fits["line"], fits["column"], fits["end_line"], fits["end_column"]) == (1, 5, 1, 5 + len(made))
    elsewhere = fix_of(Edited("b = a - c", "b = a - c.to(a.device)", 2, _core.FixKind.USE_SITE))
    assert elsewhere["edit"]["applicable"] is False, "the source does not hold it"
