"""Runs as JSON documents, and reports through JSON and back."""

from __future__ import annotations

import copy
import io
import json

import jsonschema
import pytest
from recorded_runs import validate

from devsan.diagnostics.codec import diagnostic_of, plain_of
from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Operand, Place
from devsan.diagnostics.messages import restored
from devsan.diagnostics.placement import Placement
from devsan.job.text import write_runs
from devsan.render import json as as_json


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


REPORT = Diagnostic(
    title="a title", code="DV104", sentence="torch's sentence", rank="1", notes=("a note",), subject="deepspeed 0.14.2",
    sites=(
        Place("a.py", 3, 5, 3, 10, {3: "    a + b"}, (Label(3, 4, 5, ("cuda:0",)), Label(3, 8, 9, (), True)),
              path="/a.py"),
    ),
    see_also=(Place("c.py", 4, path="c.py"),),
    operands=(Operand("x", Placement("cuda:1", "float32", (2, 3)), True), Operand(None, None)),
    placed=(Operand("x", Placement("cuda:1"), place=Place("b.py", 1)),), candidates=(("DV101", "name"),),
    fixes=(Fix("do it", "likely", (Edit(Place("a.py", 3, 5, 3, 10, path="/a.py"), "a + b", "a + b.to(a.device)"),)),),
    evidence=("It is so.",), naive_fix="It hides what comes next.",
)  # fmt: skip


def test_a_report_comes_back_as_it_was():
    read = diagnostic_of(json.loads(json.dumps(plain_of(REPORT))))
    assert read == REPORT
    assert read.sites[0].lines == REPORT.sites[0].lines


def test_fields_of_a_later_edition_do_not_matter():
    assert diagnostic_of({**plain_of(REPORT), "weather": "fine"}) == REPORT


@pytest.mark.parametrize(
    "change", [{"headline": None}, {"sites": [{}]}, {"rank": 1}, {"rows": [{"name": 3}]}, {"severity": "bad"}]
)
def test_a_report_that_is_damaged(change):
    with pytest.raises(ValueError, match="expected"):
        diagnostic_of({**plain_of(REPORT), **change})


def test_the_terminal_shows_what_was_printed(failed):
    stream = io.StringIO()
    write_runs([failed.run], stream)
    printed = failed.error[failed.error.index("\nerror[") : failed.error.index("devsan: the run is in")]
    assert "= torch: " not in printed  # the traceback above has the sentence
    shown = [line for line in stream.getvalue().splitlines() if "= torch: " not in line]
    assert shown[: printed.count("\n")] == printed.splitlines()
    assert failed.run["findings"][0]["printed"]
