"""The rules for living models: each looks at a subject and yields findings, independently of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from devsan.doctor.findings import Finding
from devsan.doctor.live.rules.gaps import judge_gaps
from devsan.doctor.live.rules.hook_devices import judge_hook_devices
from devsan.doctor.live.rules.meta import judge_meta
from devsan.doctor.live.rules.optimizer_state import judge_optimizer_state
from devsan.doctor.live.rules.quantised import judge_quantised
from devsan.doctor.live.rules.stale_parameters import judge_stale_parameters
from devsan.doctor.live.rules.tied import judge_tied
from devsan.doctor.live.rules.two_owners import judge_two_owners

if TYPE_CHECKING:
    from devsan.doctor.live.subject import Subject

Rule = Callable[["Subject"], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    judge_two_owners, judge_tied, judge_hook_devices, judge_gaps, judge_meta, judge_optimizer_state,
    judge_stale_parameters, judge_quantised,
)  # fmt: skip

CODES = {
    "DV430": "tied-weights",
    "DV431": "quantised-state",
    "DV432": "stale-parameters",
}
"""The codes that only these rules give, and their names; the rest are causes of failed runs, under their codes."""
