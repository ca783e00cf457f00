"""The lines of an edit as they are shown."""

from __future__ import annotations

from devsan.render.edit_lines import edit_lines


def test_a_statement_in_front_of_another_is_at_its_indentation():
    before, after = "init(\n        1)", "set_device(0)\n    init(\n        1)"
    assert edit_lines(before, after) == (["init(", "    1)"], ["set_device(0)", "init(", "    1)"])


def test_lines_that_change_one_by_one_stay_as_they_are():
    assert edit_lines("f(a,\n      b)", "f(a,\n      c)") == (["f(a,", "      b)"], ["f(a,", "      c)"])
