"""How a finding is shown: an edit of a line that no place shows is the edit of the line."""

from __future__ import annotations

from devsan.doctor.as_report import report_of
from devsan.doctor.fix_validation import edited
from tests.doctor.conftest import ACCELERATE


def test_an_edit_elsewhere_is_shown_with_its_line(fsdp):
    text = ACCELERATE.replace("num_processes: 4", "num_processes: 8\ngpu_ids: 0,1,2,3")
    fsdp.launch = "accelerate launch --config_file fsdp.yaml train.py"
    fsdp.write("fsdp.yaml", text)
    (found,) = (each for each in fsdp.findings() if each.code == "DV420")
    (edit,) = report_of(found).fixes[0].edits
    assert (edit.before, edit.after) == ("num_processes: 8", "num_processes: 4")
    assert edited(text, [edit]) == edited(text, found.fixes[0].edits)


def test_an_edit_of_a_line_that_is_shown_stays(fsdp):
    fsdp.write("fsdp.yaml", ACCELERATE.replace("mixed_precision: bf16", "mixed_precision: bf17"))
    (found,) = fsdp.findings()
    assert report_of(found).fixes == found.fixes
