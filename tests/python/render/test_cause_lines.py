"""How a cause looks on a terminal: evidence, fixes, what a naive fix would break."""

from __future__ import annotations

from dataclasses import replace

from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Operand, Place
from devsan.diagnostics.placement import Placement
from devsan.render.terminal.printer import lines_of


def below(cause: Diagnostic, *sites: Place) -> list[str]:
    lines = [
        "".join(piece for piece, _ in line).rstrip() for line in lines_of(replace(cause, sentence="s", sites=sites))
    ]
    return lines[lines.index(next(line for line in lines if line.endswith("= torch: s"))) + 1 :]


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


def test_evidence_then_what_not_to_do_then_the_fixes_where_the_eye_ends() -> None:
    edits = (Edit(Place("f.py", 3), "a", "b"),)
    fixes = (Fix("do this", "likely"), Fix("do that", "likely", edits), Fix("or so", "possible", edits))
    cause = Diagnostic(title="t", code="DV101", fixes=fixes, evidence=("One.", "Two.", "Three.", "Four."),
                       naive_fix="It hides what comes next. And more.")  # fmt: skip
    assert below(cause, Place("f.py", 3)) == [
        "",
        "note: One. Two. Three.",
        "note: a naive `.to(device)`: it hides what comes next.",
        "more: devsan explain DV101",
        "help: do this (likely)",
        "  or: do that (likely)",
        "    3 - a",
        "    3 + b",
        "  or: or so (possible)",
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
    assert lines[2:] == ["help: r (certain)", "   --> other.py:3", "    4 -     1,", "    4 +     2,"]
    assert "   --> other.py:3" not in below(cause, Place("other.py", 9))


def test_a_change_of_a_part_of_a_line_shows_the_line() -> None:
    place = Place("c.json", 2, 12, 2, 14)
    site = Place("c.json", 2, 12, lines={2: '  "batch": 64,'})
    lines = below(Diagnostic(title="t", code="DV413", fixes=(Fix("r", "certain", (Edit(place, "64", "128"),)),)), site)
    assert lines[2:] == ["help: r (certain)", '    2 - "batch": 64,', '    2 + "batch": 128,']


def test_what_differs_is_marked_where_a_line_goes_on_below() -> None:
    before = "loss = " + "a_long_name, " * 9 + "labels.view(-1))" + "  # why" * 9
    edit = Edit(Place("f.py", 7), before, before.replace("labels.", "labels.to(logits.device)."))
    cause = Diagnostic(title="t", code="DV104", fixes=(Fix("r", "certain", (edit,)),))
    below = [line for line in lines_of(cause, width=80, room=80) if line and line[1:] and line[1][0].startswith("+ ")]
    assert "".join(text for line in below for text, style in line if style == "added part") == ".to(logits.device)"
    assert len(below) == 4 and all(len("".join(text for text, _ in line)) <= 80 for line in below)


def test_a_line_of_source_is_shown_once() -> None:
    site = Place("f.py", 7, 5, lines={7: "x = a + b.cpu()"})
    placed = (
        Operand("a", Placement("cuda:0"), place=Place("f.py", 3, 1, lines={3: "a, b = make()"})),
        Operand("b", Placement("cuda:1"), place=Place("f.py", 3, 4, lines={3: "a, b = make()"})),
        Operand("b.cpu()", Placement("cpu"), place=Place("f.py", 7, 9, lines={7: "x = a + b.cpu()"})),
    )
    lines = "\n".join(below(Diagnostic(title="t", code="DV101", placed=placed), site))
    assert lines.count("a, b = make()") == 1 and "x = a + b.cpu()" not in lines
    assert lines.count("f.py:3:") == 2 and "f.py:7:9" in lines
