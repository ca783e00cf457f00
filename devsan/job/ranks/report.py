"""A finding about a job, as a run's document has findings, with what the launcher's side prints of it."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from typing import Any

from devsan import core
from devsan.diagnosis.cause import confidence_of, fixes_of
from devsan.diagnosis.source import shown_path, whole_path
from devsan.diagnostics.codec import plain_fix, plain_of
from devsan.diagnostics.diagnostic import CONFIDENCES, Diagnostic, Place
from devsan.run_files.document import NOTHING_FAILED
from devsan.run_files.places import frame_of
from devsan.run_files.records import finding_of as facts_of

Plain = dict[str, Any]


def finding_of(found: core.RankFinding, own: Mapping[int, Sequence[Mapping[str, Any]]]) -> Plain:
    """Returns the core's RankFinding in the fields of a run's document, with "ranks", "ranks_text", "victims", "of".

    Args:
        found: what the ranks together show.
        own: the findings that each rank made by itself; one of them may be what ``found`` stands for.
    """
    ranks = [int(each) for each in found.ranks]
    more: Plain = {
        "ranks": ranks, "ranks_text": core.ranks_text(ranks), "victims": list(found.victims), "of": None,
    }  # fmt: skip
    if found.of_rank >= 0:
        more["of"] = {"rank": int(found.of_rank), "finding": int(found.of_finding)}
        return {**_of_a_rank(own[found.of_rank][found.of_finding], found.finding, more), **more}
    said = _diagnostic(found, more)
    plain: Plain = {
        **NOTHING_FAILED, **facts_of(found.finding), "involved": [],
        "stack": [made for site in found.finding.sites if (made := frame_of(site.frame)) is not None],
        **plain_of(said),
    }  # fmt: skip
    if found.shown_rank >= 0:
        plain |= _shown(own[found.shown_rank][found.shown_finding], plain["notes"])
    return {**plain, **more}


def _of_a_rank(own: Mapping[str, Any], finding: core.Finding, more: Plain) -> Plain:
    """A rank's own finding under the heading of all the ranks, with what the others show.

    What both propose is told once, with the edit of whoever has one.
    """
    shown = {each["text"]: each for each in map(plain_fix, fixes_of(finding.fixes))}
    known = [each if each["edits"] else shown.get(each["text"], each) for each in own["fixes"]]
    fresh = [each for text, each in shown.items() if text not in {fix["text"] for fix in own["fixes"]}]
    surer = [each for each in fresh if each["confidence"] == "certain"]  # the ranks together leave no other
    fixes = [*surer, *known, *(each for each in fresh if each not in surer)]
    return {
        **own, "evidence": [*own["evidence"], *finding.evidence], "rank": more["ranks_text"],
        "notes": [*own["notes"], *more["victims"]],
        "fixes": sorted(fixes, key=lambda fix: CONFIDENCES[fix["confidence"]]),
    }  # fmt: skip


def _shown(told: Mapping[str, Any], notes: Sequence[str]) -> Plain:
    """What a rank's own finding tells of the failure that this one accounts for: the operation and its operands."""
    kept = ("headline", "op", "kind", "phase", "sentence", "source", "sites", "stack", "operands", "involved", "time",
            "rows", "placed")  # fmt: skip
    return {**{name: told[name] for name in kept}, "notes": [*told["notes"], *notes]}


def _diagnostic(found: core.RankFinding, more: Plain) -> Diagnostic:
    finding, ranks = found.finding, list(found.ranks)
    whose = list(found.site_ranks) or [ranks] * len(finding.sites)
    sites = [
        site
        for each, there in zip(finding.sites, whose, strict=True)
        # The report names its own ranks beside its first place.
        if (site := _place(each.frame, "" if list(there) == ranks else core.ranks_text(there))) is not None
    ]
    is_error = finding.severity == core.Severity.ERROR
    return Diagnostic(
        title=finding.title, code=str(finding.code), severity="error" if is_error else "warning",
        confidence=confidence_of(finding), sites=tuple(sites), rank=more["ranks_text"],
        evidence=tuple(finding.evidence), fixes=fixes_of(finding.fixes), naive_fix=str(finding.naive_fix),
        notes=tuple(more["victims"]),
    )  # fmt: skip


def _place(frame: core.Frame, note: str) -> Place | None:
    if not frame.file:
        return None
    file, line = str(frame.file), int(frame.span.line)
    text = linecache.getline(file, line).rstrip("\n") or str(frame.source)
    return Place(
        shown_path(file), line, int(frame.span.column), lines={line: text} if text else {}, note=note,
        path=whole_path(file),
    )  # fmt: skip
