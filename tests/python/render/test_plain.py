"""How a report looks: columns, collisions, color."""

from __future__ import annotations

import io

import pytest

from devsan.diagnostics.diagnostic import Diagnostic, Label, Operand, Place
from devsan.diagnostics.placement import Placement
from devsan.render.terminal.printer import lines_of, write
from devsan.render.terminal.stream import wants_color
from devsan.render.terminal.text import display_width


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def plain(report: Diagnostic, room: int = 120) -> list[str]:
    return ["".join(piece for piece, _ in line).rstrip() for line in lines_of(report, room=room)]


def report_with(text: str, *labels: Label, **rest: object) -> Diagnostic:
    return Diagnostic(title="t", sentence="s", sites=(Place("f.py", 7, 1, lines={7: text}, labels=labels),), **rest)  # type: ignore[arg-type]


def test_labels_that_have_room_share_a_line() -> None:
    report = report_with(
        "left_operand + right", Label(7, 0, 12, ("cuda:0",)), Label(7, 15, 20, ("cpu",), offending=True)
    )
    assert plain(report)[4:6] == ["   | ------------   ^^^^^", "   | cuda:0         cpu"]


def test_labels_that_collide_go_below_each_other() -> None:
    labels = [Label(7, place, place + 1, (f"cuda:{place}  float32[2,2]",)) for place in (0, 4, 8)]
    assert plain(report_with("a + b + c", *labels))[4:8] == [
        "   | -   -   -",
        "   | |   |   cuda:8  float32[2,2]",
        "   | |   cuda:4  float32[2,2]",
        "   | cuda:0  float32[2,2]",
    ]


def test_a_label_with_several_texts_does_not_run_into_its_neighbor() -> None:
    first = Label(7, 0, 4, ("self.norm.weight  cuda:2", "self.norm.bias  cuda:2"))
    lines = plain(report_with("norm(x)", first, Label(7, 5, 6, ("cuda:0",), offending=True)))
    assert lines[4:8] == [
        "   | ---- ^",
        "   | |    cuda:0",
        "   | self.norm.weight  cuda:2",
        "   | self.norm.bias  cuda:2",
    ]


def test_columns_are_those_of_a_terminal() -> None:
    assert display_width("误差 é\t") == 2 + 2 + 1 + 1 + 4
    lines = plain(report_with("\t误差 = 预测 - y", Label(7, 11, 12, ("cpu",), offending=True)))
    assert lines[3] == " 7 |     误差 = 预测 - y"
    assert lines[4] == "   | " + " " * (4 + 4 + 3 + 4 + 3) + "^"


def narrow(text: str, room: int, *labels: Label) -> list[str]:
    lines = plain(report_with(text, *labels), room)
    return lines[3 : 3 + 1 + bool(labels)]


def test_a_long_line_loses_its_indentation_then_its_end() -> None:
    assert narrow("        a + b  # why", 20, Label(7, 12, 13)) == [" 7 | a + b  # why", "   |     -"]
    assert narrow("        a + b  # because", 20, Label(7, 12, 13)) == [" 7 | a + b  # bec...", "   |     -"]


def test_then_what_is_between_the_labels() -> None:
    text = "loss = loss_fct(" + "some.very.long.expression, " * 4 + "labels)"
    start = text.index("labels")
    line, marks = narrow(text, 50, Label(7, start, start + 6, offending=True))
    assert line.endswith("labels)") and "..." in line and len(line) <= 50
    assert line[marks.index("^") : marks.rindex("^") + 1] == "labels"


def test_then_the_middle_of_what_is_labeled() -> None:
    text = "f(" + "x" * 100 + ", y)"
    line, marks = narrow(text, 60, Label(7, 2, 102), Label(7, 104, 105, offending=True))
    assert len(line) <= 60
    assert line[marks.index("^")] == "y"
    assert line[marks.index("-") : marks.rindex("-") + 1].startswith("xxxx")
    assert line[marks.index("-") : marks.rindex("-") + 1].endswith("xxxx")


def test_wide_characters_are_cut_by_their_columns() -> None:
    text = "损失 = 函数(" + "预测结果, " * 12 + "标签)"
    start = text.index("标签")
    line, marks = narrow(text, 60, Label(7, start, start + 2, offending=True))
    assert display_width(line) <= 60
    assert display_width(line[: line.index("标签")]) == marks.index("^")


def test_words_end_at_the_right_edge() -> None:
    label = Label(7, 30, 32, ("cuda:1  int64[22]  (target)",), offending=True)
    lines = plain(report_with("f(" + "a, " * 9 + ", yy)", label, Label(7, 2, 3, ("cuda:0",))), room=46)
    assert lines[4:6] == [
        "   |   -                           ^^",
        "   |   cuda:0      cuda:1  int64[22]  (target)",
    ]


def test_whose_words_they_are() -> None:
    assert plain(report_with("x", source="accelerate"))[-1] == "   = accelerate: s"


def test_lines_that_are_left_out_are_shown_to_be() -> None:
    site = Place("f.py", 98, 1, lines={98: "f(", 99: "a,", 120: "b,"})
    lines = plain(Diagnostic(title="t", sentence="s", sites=(site,)))
    assert lines[3:7] == [
        "  98 | f(",
        "  99 | a,",
        "   ...",
        " 120 | b,",
    ]


def test_the_rank_stands_at_the_right_edge() -> None:
    line = plain(report_with("x", rank="3"))[1]
    assert line.endswith("rank 3")
    assert len(line) == 80


def test_operands_are_a_table() -> None:
    operands = (
        Operand("self", Placement("cuda:3", "float32", (30, 256))),
        Operand("target", Placement("cuda:1", "int64", (30,)), offending=True, qualified_name="model.labels"),
        Operand(None, Placement("cpu")),
    )
    assert plain(Diagnostic(title="t", sentence="s", operands=operands))[-3:] == [
        "  self        float32[30,256]  on cuda:3",
        "  target      int64[30]        on cuda:1  is model.labels",
        "  an operand                   on cpu",
    ]


@pytest.mark.parametrize(
    ("terminal", "variables", "colored"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True),
        (False, {"FORCE_COLOR": "0"}, False),
    ],
)
def test_color(terminal: bool, variables: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.StringIO()
    assert wants_color(stream) is colored
    write(report_with("[bold]x[/bold] :smile:", Label(7, 6, 7, ("cpu",), offending=True)), stream)
    assert ("\x1b[" in stream.getvalue()) is colored
    assert "[bold]x[/bold] :smile:" in stream.getvalue()


def test_a_stream_without_unicode_gets_escapes() -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    write(report_with("误差"), stream)
    assert b"\\u8bef\\u5dee" in buffer.getvalue()
