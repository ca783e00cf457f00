"""What a GPU had no room for."""

from __future__ import annotations

from typing import Any

from devsan.fix.outcome import Outcome
from devsan.plan.shortage import Shortage, shortage_of, sizes_of

_MEMORY = {
    "device": "cuda:1", "tried": 20, "free": 8, "allocated": 90,
    "parts": [{"kind": "optimizer_state", "bytes": 60}, {"kind": "parameter", "bytes": 30}],
}  # fmt: skip


def outcome(*findings: dict[str, Any]) -> Outcome:
    return Outcome(1, False, findings, {}, {}, [], 1.0)


def test_the_first_finding_with_an_account_of_memory_says_it() -> None:
    found = shortage_of(outcome({"phase": "none"}, {"phase": "optimizer", "memory": _MEMORY}))
    assert found == Shortage("cuda:1", "optimizer", 12, 90, {"optimizer_state": 60, "parameter": 30})


def test_without_one_it_is_not_known() -> None:
    assert shortage_of(outcome()) is None
    assert shortage_of(outcome({"phase": "none", "memory": None})) is None


def test_what_stands_beside_all_that_is_allocated_is_no_part_of_it() -> None:
    kinds = ("context", "parameter", "fragmentation", "gradient")
    parts = [{"kind": kind, "bytes": size} for size, kind in enumerate(kinds, 1)]
    assert sizes_of({"parts": parts}) == {"parameter": 2, "gradient": 4}
