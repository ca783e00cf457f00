"""A color on a terminal means one thing, and a device has the same one wherever it is named."""

from __future__ import annotations

import re

from devsan.diagnostics.diagnostic import Diagnostic, Label, Operand, Place
from devsan.diagnostics.placement import Placement
from devsan.render.terminal.colors import colored, style_of_device
from devsan.render.terminal.printer import lines_of

COLORED = re.compile(r"\x1b\[([\d;]+)m([^\x1b]*)\x1b\[0m")


def color_in(codes: str) -> str:
    """Only the color of SGR parameters, without weight and underline."""
    return re.sub(r"(?<![\d;])(?:[124];)+", "", codes)


def test_a_device_has_one_color_in_the_whole_report_and_no_other_has_it() -> None:
    labels = (Label(1, 0, 1, ("cuda:0  float32[2]",)), Label(1, 4, 5, ("cuda:1  float32[2]",), offending=True))
    report = Diagnostic(
        title="operands are on cuda:0 and cuda:1", code="DV101", sentence="cuda:0 and cuda:1!", evidence=("cpu",),
        sites=(Place("f.py", 1, 1, lines={1: "a + b"}, labels=labels),), notes=("m: cuda:0 a | cuda:1 b",),
        placed=(Operand("a", Placement("cuda:0"), owner="this program"),),
    )  # fmt: skip
    of: dict[str, set[str]] = {}
    for line in lines_of(report):
        for codes, text in COLORED.findall(colored(line)):
            device = re.search(r"cuda:\d|cpu", text)
            if device is not None:
                of.setdefault(device[0], set()).add(color_in(codes))
    assert {device: len(colors) for device, colors in of.items()} == {"cuda:0": 1, "cuda:1": 1, "cpu": 1}
    assert len(set.union(*of.values())) == 3
    marks = [(codes, text) for line in lines_of(report) for codes, text in COLORED.findall(colored(line))]
    assert color_in(next(codes for codes, text in marks if text == "^")) in of["cuda:1"]
    assert color_in(next(codes for codes, text in marks if text == "-")) in of["cuda:0"]


def test_the_wrong_one_is_told_by_weight() -> None:
    wrong, right = (colored([("x", style_of_device("cuda:1  int64[3]", is_wrong))]) for is_wrong in (True, False))
    assert wrong == "\x1b[1;38;5;172mx\x1b[0m"
    assert right == "\x1b[38;5;172mx\x1b[0m"


def test_no_device_has_the_color_of_a_verdict() -> None:
    verdicts = {"31", "32", "33"}
    devices = {COLORED.findall(colored([(f"cuda:{index}", "")]))[0][0] for index in range(8)}
    assert len(devices) == 8 and not devices & verdicts
    styles = ("error", "warning", "help", "good", "added", "removed", "removed part")
    assert {color_in(COLORED.findall(colored([("x", style)]))[0][0]) for style in styles} == verdicts


def test_what_only_looks_like_a_device_has_no_color() -> None:
    for text in ("x.cpu()", "lib/cpu/x.py", "cpu_count", "mycuda:0"):
        assert colored([(text, "")]) == text
