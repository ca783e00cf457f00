"""A GPU that is full is drawn as a bar: who holds it, what else is taken, what is free."""

from __future__ import annotations

import pytest

from devsan.diagnostics.codec import diagnostic_of
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.render.peaks import _KINDS
from devsan.render.terminal import memory_lines
from devsan.render.terminal.bar import bar, split_bar
from devsan.render.terminal.printer import lines_of
from devsan.render.terminal.text import display_width
from devsan.run_files.document import without_failure

MIB = 1 << 20
# As a run file has it, of which the terminal draws a part.
HELD = {
    "device": "cuda:1", "total": 600 * MIB, "free": 60 * MIB, "allocated": 480 * MIB, "reserved": 500 * MIB,
    "parts": [{"kind": kind, "bytes": size * MIB, "tensors": 1, "largest": []}
              for kind, size in (("activation", 300), ("optimizer_state", 120), ("parameter", 59), ("data", 1))],
}  # fmt: skip


def drawn(held: object = HELD, width: int = 80) -> list[str]:
    finding = {**without_failure(Diagnostic(title="t", code="DV501")), "memory": held}
    lines = ["".join(text for text, _ in line).rstrip() for line in lines_of(diagnostic_of(finding), width=width)]
    return lines[2 : lines.index("more: devsan explain DV501") - 1]


def test_who_holds_it() -> None:
    assert drawn() == [
        "  cuda:1  [aaaaaaaaaaaaaaaaaaaooooooopppp=====...]  480 MiB of 600 MiB allocated",
        "          a activations and other results of operators, o optimizer state,",
        "          p parameters, = what else is taken",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_it_keeps_to_its_columns(width: int) -> None:
    lines = drawn(width=width)
    assert max(map(display_width, lines)) <= width
    assert "[a" in lines[0] and "480 MiB of 600 MiB allocated" in " ".join(lines[:2])


def test_nobody_is_known_to_hold_it() -> None:
    assert drawn(None) == [] and drawn({**HELD, "parts": []}) == []


def test_each_kind_of_memory_has_a_letter_of_its_own() -> None:
    signs = memory_lines._SIGNS
    assert signs.keys() == _KINDS.keys() and len(set(signs.values())) == len(signs)


def test_a_bar_is_as_long_as_its_cells_and_shows_what_is_taken_at_all() -> None:
    assert bar(50, 75, 100, 8) == split_bar([("#", 50)], 75, 100, 8) == "[####==..]"
    assert split_bar([], 1, 100, 8) == "[=.......]" and split_bar([("a", 0)], 0, 0, 4) == "[....]"
    assert split_bar([("a", 34), ("b", 33), ("c", 33)], 100, 100, 10) == "[aaabbbcccc]"
