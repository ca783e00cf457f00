"""What the diagnosis adds to a report, and that the report is as it was where it adds nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from devsan.diagnosis.cause import fixes_of
from devsan.introspect.deadline import look

Run = Callable[[str], str]


def spin(failure: object) -> None:
    while True:
        look()


def fail(failure: object) -> None:
    raise ValueError("no")


def test_no_diagnosis_no_difference(gpus: None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told = run("loss")
    monkeypatch.setattr("devsan.diagnosis.cause.explain", lambda failure: None)
    plain = run("loss")
    assert told.startswith("\nerror[DV104]: ")
    assert told.replace("error[DV104]", "error", 1).startswith(plain)
    monkeypatch.setattr("devsan.diagnosis.cause.explain", fail)
    assert run("loss") == plain


def test_a_diagnosis_that_takes_too_long_is_left_out(gpus: None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devsan.diagnosis.cause.explain", spin)
    monkeypatch.setattr("devsan.diagnosis.cause._SECONDS", 1.0)
    start = time.process_time()
    told = run("loss")
    assert told.startswith("\nerror: ") and "the search for the cause was stopped" in told
    assert time.process_time() - start < 5


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

    def edit_of(before, after, **more):
        ((fix,),) = (fixes_of([Edited(before, after, **more)]),)
        assert fix.text == "make it there"
        return fix.edits[0]

    made = "a = torch.ones(3, device='cuda:0')"
    assert not edit_of(made, "a = torch.ones(3, device=c.device)").safe
    fits = edit_of(made, "a = torch.ones(3, device='cuda:1')")
    assert fits.safe
    place = fits.place
    assert (place.line, place.column, place.end_line, place.end_column) == (1, 5, 1, 5 + len(made))
    elsewhere = edit_of("b = a - c", "b = a - c.to(a.device)", line=2, kind=_core.FixKind.USE_SITE)
    assert not elsewhere.safe, "the source does not hold it"
