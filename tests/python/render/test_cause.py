"""What the diagnosis adds to a report, and that the report is today's where it adds nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Operand, Place
from devsan.diagnostics.placement import Placement
from devsan.introspect.deadline import Late, look, within
from devsan.introspect.frames.edits import can_run
from devsan.render.terminal.printer import lines_of

Run = Callable[[str], str]


def below(cause: Diagnostic, *sites: Place) -> list[str]:
    lines = [
        "".join(piece for piece, _ in line).rstrip() for line in lines_of(replace(cause, sentence="s", sites=sites))
    ]
    return lines[lines.index(next(line for line in lines if line.endswith("= torch: s"))) + 1 :]


def fail(failure: object) -> None:
    raise ValueError("no")


def spin(failure: object) -> None:
    while True:
        look()


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
    start = time.process_time()
    assert run("loss").startswith("\nerror: ")
    assert time.process_time() - start < 5


def test_time_is_up() -> None:
    with pytest.raises(Late):
        within(0.01, lambda: spin(None))
    assert within(10, lambda: 3) == 3


def test_time_in_which_the_thread_does_nothing_counts_a_fifth() -> None:
    def wait() -> int:
        time.sleep(0.6)
        for _ in range(100):
            look()
        return 3

    assert within(0.5, wait) == 3
    with pytest.raises(Late):
        within(0.1, wait)


def test_a_candidate_each_where_it_is_undecided() -> None:
    lines = below(Diagnostic(title="t", code="DV000", candidates=(("DV101", "single"), ("DV102", "fresh"))))
    assert lines == [
        "",
        "undecided: the evidence fits several causes",
        "  DV101 single",
        "  DV102 fresh",
        "more: devsan explain DV101, devsan explain DV102",
    ]


def test_a_candidate_has_its_evidence() -> None:
    cause = Diagnostic(
        title="t", code="DV000", candidates=(("DV101", "single"),), evidence=("DV101: A is so.", "DV102: B is not.")
    )
    assert below(cause)[1:3] == [
        "undecided: what was seen is not enough to be sure of",
        "  DV101 single: A is so.",
    ]


def test_evidence_then_fixes_then_what_not_to_do() -> None:
    edits = (Edit(Place("f.py", 3), "a", "b"),)
    fixes = (Fix("do this", "likely"), Fix("do that", "likely", edits), Fix("or so", "possible", edits))
    cause = Diagnostic(title="t", code="DV101", fixes=fixes, evidence=("One.", "Two.", "Three."),
                       naive_fix="It hides what comes next. And more.")  # fmt: skip
    assert below(cause, Place("f.py", 3)) == [
        "",
        "note: One. Two.",
        "help: do this (likely)",
        "  or: do that (likely)",
        "    3 - a",
        "    3 + b",
        "  or: or so (possible)",
        "note: a naive `.to(device)`: it hides what comes next.",
        "more: devsan explain DV101",
    ]


def test_long_lines_are_broken_at_column_80() -> None:
    source = "x = torch.zeros(" + ", ".join(["hidden_size"] * 8) + ")"
    setting = 'device_map["model.layers.17.post_attention_layernorm"] = 1'
    placed = Operand("x", Placement("cuda:1", "float32", (8,)), owner="accelerate: AlignDevicesHook of model.layers.17",
                     place=Place("train.py", 7, 5, lines={7: source}), setting=setting)  # fmt: skip
    fix = Fix("create it " + "where the others are " * 6, "likely")
    lines = below(Diagnostic(title="t", code="DV101", placed=(placed,), fixes=(fix,)))
    assert max(map(len, lines)) <= 80
    assert "".join(source.split()) in "".join("".join(lines).split())
    assert f"       -> {setting}" in lines


def test_a_change_of_another_file_says_which() -> None:
    edit = Edit(Place("other.py", 3), "a = f(\n    1,\n)", "a = f(\n    2,\n)")
    cause = Diagnostic(title="t", code="DV102", fixes=(Fix("r", "certain", (edit,)),))
    lines = below(cause, Place("train.py", 9))
    assert lines[1:-1] == ["help: r (certain)", "   --> other.py:3", "    4 -     1,", "    4 +     2,"]
    assert "   --> other.py:3" not in below(cause, Place("other.py", 9))


@pytest.mark.parametrize(
    ("line", "name", "runs"),
    [
        (3, "x", True),  # an argument
        (3, "later", False),
        (6, "later", True),
        (3, "table", True),  # of the module: bound when f is called
        (8, "late", False),
        (8, "nobody", False),
    ],
)
def test_only_a_change_that_can_run_is_shown(line: int, name: str, runs: bool, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "table = 0\ndef f(x):\n    y = zeros(3)\n    for later in x:\n        y += later\n    z = zeros(3)\n\n"
        "w = zeros(3)\nlate = 1\n",
        encoding="utf-8",
    )
    assert can_run(str(file), line, "zeros(3)", f"zeros(3, device={name}.device)") is runs


def test_a_change_of_a_part_of_a_line_shows_the_line() -> None:
    place = Place("c.json", 2, 12, 2, 14)
    site = Place("c.json", 2, 12, lines={2: '  "batch": 64,'})
    lines = below(Diagnostic(title="t", code="DV413", fixes=(Fix("r", "certain", (Edit(place, "64", "128"),)),)), site)
    assert lines[1:-1] == ["help: r (certain)", '    2 - "batch": 64,', '    2 + "batch": 128,']


def test_fixes_are_in_one_order_the_surest_first_whoever_adds_them():
    given = (Fix("a", "possible"), Fix("b", "likely"), Fix("c", "certain"), Fix("d", "likely"))
    assert [fix.text for fix in Diagnostic(title="t", fixes=given).fixes] == ["c", "b", "d", "a"]
