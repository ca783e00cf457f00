"""Findings after which the program goes on by itself.

NOTE [Passing findings] Under the policy "warn" every operation that CUDA would refuse is told, also one whose error a
library or the program catches, to go on another way: such a finding is no failure. The run as it is shows which: what
the same process met before the failure that ended it passed, and all of it where nothing ended it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from devsan.fix.experiment import Outcome
from devsan.fix.source import source_of


def without_passing(told: Outcome, failing: Outcome) -> Outcome:
    """Returns the run ``told`` without the findings that pass.

    Args:
        told: the run under the policy "warn".
        failing: the run as it is, which failed or ended. What ended it comes first.
    """
    if not failing.findings:
        return replace(told, findings=()) if failing.ended else told
    ends = failing.findings[0]
    for number, finding in enumerate(told.findings):
        sites = _sites(finding)
        if _sites(ends)[0] in sites:
            passed = sites.index(_sites(ends)[0])
            first = finding if passed == 0 else {**ends, "also_at": finding["also_at"][passed:]}
            others = [each for each in told.findings[:number] if each["rank"] != ends["rank"]]
            return replace(told, findings=[*others, first, *told.findings[number + 1 :]])
    return replace(told, findings=[ends, *told.findings])  # the policy lets it pass: a generator and its tensor


def _sites(finding: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Where it showed: the operator and the expression, the first place first."""
    sites = [{"frame": frame, "op": finding["op"]} for frame in finding["stack"][:1]]
    return [
        (each["op"], *(each["frame"][key] for key in ("path", "line", "column", "end_line", "end_column")))
        for each in (*sites, *finding["also_at"])
    ] or [()]


def may_pass(finding: Mapping[str, Any]) -> bool:
    """Returns whether the source has a handler around the operation that was refused, in any of its frames."""
    return any(_is_handled(frame) for frame in finding["stack"])


def _is_handled(frame: Mapping[str, Any]) -> bool:
    source = source_of(frame["path"])
    for node in ast.walk(source.tree) if source is not None else ():
        if not isinstance(node, ast.Try) or not node.handlers or _raises(node):
            continue
        if node.body[0].lineno <= frame["line"] <= (node.body[-1].end_lineno or frame["line"]):
            return True
    return False


def _raises(node: ast.Try) -> bool:
    """Whether all handlers raise at their end."""
    return all(isinstance(handler.body[-1], ast.Raise) for handler in node.handlers)
