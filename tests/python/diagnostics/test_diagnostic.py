"""The one diagnostic."""

from __future__ import annotations

from devsan.diagnostics.diagnostic import Diagnostic, Fix


def test_fixes_are_in_one_order_the_surest_first_whoever_adds_them():
    given = (Fix("a", "possible"), Fix("b", "likely"), Fix("c", "certain"), Fix("d", "likely"))
    assert [fix.text for fix in Diagnostic(title="t", fixes=given).fixes] == ["c", "b", "d", "a"]
