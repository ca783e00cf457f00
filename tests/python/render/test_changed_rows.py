"""A change as it is shown, row by row."""

from __future__ import annotations

from devsan.render.changed_rows import ChangedRow, rows_of_edit, rows_of_replaced
from devsan.render.terminal.diff_lines import changed_lines, diff_lines
from devsan.render.unified_diff import Replaced


def shown(rows: list[ChangedRow]) -> list[str]:
    return [f"{row.line} {row.sign} {row.head}{row.changed}{row.tail}" for row in rows]


def test_a_statement_in_front_of_another_is_at_its_indentation() -> None:
    rows = rows_of_edit("init(\n        1)", "set_device(0)\n    init(\n        1)", 3)
    assert shown(rows) == ["3 + set_device(0)", "4   init("]


def test_a_statement_that_is_put_into_a_block_is_another_one() -> None:
    rows = rows_of_edit("x = 1", "if t:\n        x = 1", 3, column=5)
    assert shown(rows) == ["3 - x = 1", "3 + if t:", "4 +     x = 1"]


def test_a_statement_behind_another_is_shown_below_it() -> None:
    rows = rows_of_edit("a.copy_(b)", "a.copy_(b)\n            event.record()", 7)
    assert shown(rows) == ["7   a.copy_(b)", "8 + event.record()"]


def test_whole_lines_lose_what_all_of_them_are_indented_by() -> None:
    rows = rows_of_edit("    loss = f(x)", "    x.record_stream(s)\n    loss = f(x)", 3)
    assert shown(rows) == ["3 + x.record_stream(s)", "4   loss = f(x)"]


def test_lines_that_change_one_by_one_stay_as_they_are() -> None:
    rows = rows_of_edit("f(a,\n      b)", "f(a,\n      c)", 1)
    assert shown(rows) == ["2 -       b)", "2 +       c)"]
    assert rows[1] == ChangedRow("+", 2, "      ", "c", ")", instead="b")


def test_a_blank_line_is_no_place() -> None:
    assert shown(rows_of_edit("\nb()", "a()\n\nb()\nc()", 1)) == ["1 + a()", "3   b()", "4 + c()"]


def test_a_line_that_goes_without_another_follows_the_one_in_front_of_it() -> None:
    assert shown(rows_of_edit("a()\n  b()\n  c()", "a()\n  c()", 4)) == ["4   a()", "5 - b()"]


def test_rows_of_a_diff_lose_the_indentation_of_all_of_them() -> None:
    found = Replaced("train.py", 8, 8, ("        a = b", "            c"), ("        a = d", "            e"))
    assert shown(rows_of_replaced(found)) == ["8 - a = b", "9 -     c", "8 + a = d", "9 +     e"]
    alone = Replaced("train.py", 8, 8, (), ("        record()",), anchor="        copy()")
    assert shown(rows_of_replaced(alone)) == ["7   copy()", "8 + record()"]


def test_what_is_cut_keeps_the_blank_in_front_of_what_differs() -> None:
    before = "        loss = criterion(logits, targets.view(-1).contiguous().long()) + 0.01 * h.pow(2).sum() * w"
    rows = rows_of_edit(before.strip(), before.strip().replace("0.01 * h", "(0.01 * h).to(w.device)"), 9)
    for line in changed_lines(rows, 5, 72):
        text = "".join(piece for piece, _ in line)
        assert ") + " in text and "..." in text


def test_a_diff_on_a_terminal_has_no_depth_of_its_own() -> None:
    diff = "--- a/t.py\n+++ b/t.py\n@@ -1,2 +1,3 @@\n     a = 1\n+    c = 3\n     b = 2\n"
    lines = ["".join(piece for piece, _ in line) for line in diff_lines(diff, 80)]
    assert lines == ["   --> t.py:2", "  1   a = 1", "  2 + c = 3"]


def test_the_blank_behind_what_comes_stays() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-value.to(device)\n+state[key] = value.to(device)\n"
    *_, last = diff_lines(diff, 80)
    assert "".join(piece for piece, _ in last).endswith("+ state[key] = value.to(device)")
