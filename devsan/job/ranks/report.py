"""A finding about a job, as a run's document has findings, with the report that the launcher's side prints."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from typing import Any

from devsan import core
from devsan.report.cause import fix_of as shown_fix
from devsan.report.codec import to_plain
from devsan.report.document import site_of
from devsan.report.facts import Cause, Report, Site
from devsan.report.places import frame_of, word
from devsan.report.records import failure_of
from devsan.report.records import finding_of as plain_finding
from devsan.report.source import shown_path, whole_path

Plain = dict[str, Any]


def finding_of(found: core.RankFinding, own: Mapping[int, Sequence[Mapping[str, Any]]]) -> Plain:
    """Returns the core's RankFinding in the fields of a run's document, with "ranks", "ranks_text", "victims", "of".

    Args:
        found: the core's RankFinding.
        own: the findings that each rank made by itself; one of them may be what ``found`` stands for.
    """
    finding = found.finding
    ranks = [int(each) for each in found.ranks]
    more: Plain = {
        "ranks": ranks, "ranks_text": core.ranks_text(ranks), "victims": list(found.victims),
        "of": None,
    }  # fmt: skip
    plain = plain_finding(finding)
    evidence, fixes = plain["evidence"], plain["fixes"]
    if found.of_rank >= 0:
        told = dict(own[found.of_rank][found.of_finding])
        known = {each["text"] for each in told["fixes"]}
        told["evidence"] = [*told["evidence"], *evidence]
        fresh = [each for each in fixes if each["text"] not in known]
        surer = [each for each in fresh if each["confidence"] == "certain"]  # the ranks together leave no other
        told["fixes"] = [*surer, *told["fixes"], *(each for each in fresh if each not in surer)]
        told["report"] = _with_ranks(dict(told.get("report") or {}), more, evidence)
        if surer and told["report"].get("cause"):
            best, others = told["report"]["cause"]["fix"], told["report"]["cause"]["others"]
            sure = [to_plain(shown_fix(each)) for each in finding.fixes if each.confidence == core.Confidence.CERTAIN]
            told["report"]["cause"] |= {"fix": sure[0], "others": [*sure[1:], *([best] if best else []), *others]}
        more["of"] = {"rank": int(found.of_rank), "finding": int(found.of_finding)}
        return {**told, **more}
    report = _report(finding, more)
    shown = _shown(found, own, report, more)
    return {
        **failure_of(core.Failure()), **plain, "headline": finding.title, "time": 0.0, "also_at": [],
        "sites": [site_of(site) for site in report.sites],
        "stack": [made for site in finding.sites if (made := frame_of(site.frame)) is not None],
        "involved": [], "candidates": [], "report": _without_sites(report), **more, **shown,
    }  # fmt: skip


def _shown(
    found: core.RankFinding, own: Mapping[int, Sequence[Mapping[str, Any]]], report: Report, more: Plain
) -> Plain:
    """What a rank's own finding tells of the failure that this one accounts for: the operation and its operands."""
    if found.shown_rank < 0:
        return {}
    told = own[found.shown_rank][found.shown_finding]
    kept = ("headline", "op", "kind", "phase", "sentence", "sites", "stack", "operands", "involved", "time")
    plain: Plain = {name: told[name] for name in kept if name in told}
    if told.get("report"):
        cause = {**_without_sites(report)["cause"], "placed": (told["report"].get("cause") or {}).get("placed", [])}
        notes = [*(told["report"].get("notes") or ()), *more["victims"]]
        plain["report"] = {**told["report"], "rank": more["ranks_text"], "notes": notes, "cause": cause}
    return plain


def _report(finding: core.Finding, more: Plain) -> Report:
    fixes = [shown_fix(each) for each in finding.fixes]
    cause = Cause(
        str(finding.code), fix=fixes[0] if fixes else None, naive_fix=str(finding.naive_fix),
        evidence=tuple(finding.evidence), others=tuple(fixes[1:]),
    )  # fmt: skip
    sites = [site for each in finding.sites if (site := _site(each.frame)) is not None]
    return Report(
        finding.title, "", tuple(sites), notes=tuple(more["victims"]), rank=more["ranks_text"], cause=cause,
        severity=word(finding.severity),
    )  # fmt: skip


def _with_ranks(report: Plain, more: Plain, evidence: Sequence[str]) -> Plain:
    """The rank's own report under the heading of all the ranks, with what the others show."""
    if not report:
        return report
    report["rank"] = more["ranks_text"]
    report["notes"] = [*(report.get("notes") or ()), *more["victims"]]
    if report.get("cause"):
        report["cause"] = {**report["cause"], "evidence": [*report["cause"].get("evidence", ()), *evidence]}
    return report


def _without_sites(report: Report) -> Plain:
    plain: Plain = to_plain(report)
    del plain["sites"]  # they are in the finding
    return plain


def _site(frame: core.Frame) -> Site | None:
    if not frame.file:
        return None
    file, line = str(frame.file), int(frame.span.line)
    text = linecache.getline(file, line).rstrip("\n") or str(frame.source)
    return Site(
        shown_path(file), line, int(frame.span.column) or None, {line: text} if text else {}, path=whole_path(file)
    )
