"""All rules, over one case."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from devsan.doctor.case import Case
from devsan.doctor.findings import ORDER, Finding, found_by
from devsan.doctor.rules import RULES


def check(case: Case, on_failure: Callable[[str, Exception], None] | None = None) -> list[Finding]:
    """Returns what is wrong, the worst first, each fault once.

    Args:
        case: what there is.
        on_failure: told the rule and its error when a rule itself fails; without it the error is raised.
    """
    return in_order(found_by(RULES, case, on_failure))


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Returns findings, the worst first; those with a place before those without."""
    return sorted(findings, key=lambda finding: (ORDER[finding.severity], finding.place is None))
