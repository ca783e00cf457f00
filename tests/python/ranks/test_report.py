"""A finding about a job in the fields of a run's document."""

from __future__ import annotations

from typing import Any

import torch  # noqa: F401  the core's libraries

from devsan import _core
from devsan.job.ranks.report import finding_of

core: Any = _core


def site(line: int) -> Any:
    return core.Site(frame=core.Frame(file="/x/train.py", function="train", span=core.Span(line=line, column=1)))


def test_a_place_of_other_ranks_than_those_of_the_finding_names_them() -> None:
    finding = core.Finding(code="DV305", sites=[site(6), site(8)])
    found = finding_of(core.RankFinding(finding=finding, ranks=[1], site_ranks=[[1], [0, 2]]), {})
    assert found["rank"] == "rank 1"
    assert [(each["line"], each["note"]) for each in found["sites"]] == [(6, ""), (8, "ranks 0 and 2")]


def test_where_the_ranks_of_places_are_not_told_they_are_those_of_the_finding() -> None:
    found = finding_of(core.RankFinding(finding=core.Finding(code="DV304", sites=[site(6)]), ranks=[1]), {})
    assert [each["note"] for each in found["sites"]] == [""]
