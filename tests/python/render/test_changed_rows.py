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


def test_a_line_that_has_no_room_goes_on_below_with_all_of_its_text() -> None:
    before = "loss = criterion(logits, targets.view(-1).contiguous().long()) + 0.01 * h.pow(2).sum() * w"
    after = before.replace("0.01 * h", "(0.01 * h).to(w.device)")
    old, old_rest, new, new_rest = changed_lines(rows_of_edit(before, after, 9), 5, 72)
    shown = ["".join(piece for piece, _ in line) for line in (old, old_rest, new, new_rest)]
    assert [line[:8] for line in shown] == ["    9 - ", "      - ", "    9 + ", "      + "]
    assert all(len(line) <= 72 and line[8:12] == "    " for line in shown[1::2])
    assert [a[8:] + b[12:] for a, b in (shown[:2], shown[2:])] == [before, after]
    added = "".join(piece for line in (new, new_rest) for piece, style in line if style == "added part")
    assert added == "(0.01 * h).to(w.device)"


def test_a_name_is_broken_only_where_it_has_no_room_of_its_own() -> None:
    before, after = "x", "self.classification_head(hidden_states.to(self.classification_head.weight.device))"
    _, *added = changed_lines(rows_of_edit(before, after, 9), 5, 60)
    assert ["".join(piece for piece, _ in line)[8:] for line in added] == [
        "self.classification_head(hidden_states.to(",
        "    self.classification_head.weight.device))",
    ]
    _, *narrow = changed_lines(rows_of_edit(before, after, 9), 5, 24)
    assert "".join("".join(piece for piece, _ in line)[8:].strip() for line in narrow) == after


def test_a_diff_on_a_terminal_has_no_depth_of_its_own() -> None:
    diff = "--- a/t.py\n+++ b/t.py\n@@ -1,2 +1,3 @@\n     a = 1\n+    c = 3\n     b = 2\n"
    lines = ["".join(piece for piece, _ in line) for line in diff_lines(diff, 80)]
    assert lines == ["   --> t.py:2", "  1   a = 1", "  2 + c = 3"]


def test_the_blank_behind_what_comes_stays() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-value.to(device)\n+state[key] = value.to(device)\n"
    *_, last = diff_lines(diff, 80)
    assert "".join(piece for piece, _ in last).endswith("+ state[key] = value.to(device)")
