"""All rules, over one case."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.case import Case
from devsan.doctor.findings import found_by, how_bad
from devsan.doctor.rules import RULES


def check(case: Case, on_failure: Callable[[str, Exception], None] | None = None) -> list[Diagnostic]:
    """Returns what is wrong, the worst first, each fault once.

    Args:
        case: what there is.
        on_failure: told the rule and its error when a rule itself fails; without it the error is raised.
    """
    return in_order(found_by(RULES, case, on_failure))


def in_order(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Returns findings, the worst first; those with a place before those without."""
    return sorted(findings, key=lambda finding: (how_bad(finding), finding.place is None))
