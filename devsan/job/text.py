"""The report on a job for the terminal: what was found, then how the ranks ended where that needs words.

train.py, 4 ranks:
  rank 1      killed by SIGKILL
  ranks 0, 2  failed at train.py:12, 0.3 s later, for want of another rank: RuntimeError: Connection closed by peer
  rank 3      ended by the launcher at train.py:12, 0.4 s later
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from devsan.job.findings import ranks_text
from devsan.job.outcome import Fate, first_of
from devsan.report import plain, run_text
from devsan.report.language import Language, language_for
from devsan.report.text import Line, padded

Document = Mapping[str, Any]
Finding = Mapping[str, Any]

_LONGEST = 72  # characters of an error's first line
_ENDS = {
    "killed": "killed by {signal}",
    "vanished": "ended without a word, as by os._exit or a kill",
    "failed": "failed",
    "exited": "left with exit code {code}",
    "starved": "failed",
    "terminated": "ended by the launcher",
    "interrupted": "interrupted",
    "running": "still running",
    "finished": "finished",
}  # how a rank ended, in the order in which the lines come
# Where in its own source gloo says it; the group that NCCL's watchdog names, and its C++ class.
_IN_SOURCE = re.compile(r"^\[\S+:\d+\] |^\[(?:PG ID|Rank)[^\]]*\] |: WorkNCCL\(.*$|(?<=ncclRemoteError): .*$")


def write(documents: Sequence[Document], findings: Sequence[Finding], fates: Sequence[Fate], stream: TextIO) -> bool:
    """Writes the report on a job; nothing, and False, where there is nothing to say.

    Args:
        documents: of the ranks.
        findings: of the job, the first cause first, each with its ranks.
        fates: how the ranks ended, by rank.
        stream: where to write.
    """
    say = language_for(stream)
    for finding in findings:
        _write_finding({"count": 1, **finding}, stream)
    if is_worth_telling(fates):
        plain.write_lines(list(lines_of(documents, findings, fates, say)), stream)
        return True
    return bool(findings)


def is_worth_telling(fates: Sequence[Fate]) -> bool:
    """Returns whether the ends say something that the tracebacks do not: a rank without one was the first, or one that
    has one is only a consequence."""
    first = first_of(fates)
    if first is None:
        return False
    return first.how not in ("failed", "exited") or any(fate.how == "starved" for fate in fates)


def lines_of(
    documents: Sequence[Document], findings: Sequence[Finding], fates: Sequence[Fate], say: Language
) -> Iterator[Line]:
    """Yields the lines about how the ranks ended, the first cause first."""
    first = first_of(fates)
    start = first.time if first is not None else None
    found = {int(document["process"]["rank"]) for document in documents if document["findings"]}
    found |= {rank for finding in findings if finding["code"] == "DV306" for rank in finding["ranks"]}
    groups: dict[tuple[object, ...], list[Fate]] = {}
    for fate in sorted(fates, key=lambda fate: (fate is not first, _order(fate), fate.time or 0.0, fate.rank)):
        code = fate.code if fate.how == "exited" else None
        kind = (fate.how, fate.type, fate.place, code, fate.signal, fate.rank in found)
        groups.setdefault(kind, []).append(fate)
    names = [ranks_text([fate.rank for fate in group]) for group in groups.values()]
    counted = "{program}, 1 rank:" if len(fates) == 1 else "{program}, {count} ranks:"
    yield [(say(counted, program=program_of(documents[0]), count=str(len(fates))), "title")]
    for name, group in zip(names, groups.values(), strict=True):
        lead = group[0] is first
        later = "" if lead or start is None else _later(group, start)
        text = _sentence(group[0], later, group[0].rank in found, say)
        yield [(f"  {padded(name, names)}  ", "odd" if lead else "other"), (text, "")]


def program_of(document: Document) -> str:
    """Returns the words of the program that the ranks ran."""
    return run_text.program_of(document["process"]["command"])


def _write_finding(finding: Finding, stream: TextIO) -> None:
    report = run_text.report_of(finding)
    if report is not None:
        plain.write(report, stream)
    else:
        name = f"{finding['code'] or ''} {finding['name']}".strip()
        head = f"{finding['severity']}[{name}]" if name else str(finding["severity"])
        who = f"  ({ranks_text(finding['ranks'])})"
        plain.write_lines([[(head, "error"), (f": {finding['title']}", "title"), (who, "frame")]], stream)


def _order(fate: Fate) -> int:
    return list(_ENDS).index(fate.how)


def _sentence(fate: Fate, later: str, told: bool, say: Language) -> str:
    text = say(_ENDS[fate.how], signal=fate.signal, code=str(fate.code))
    if fate.place:
        text += say(" at {place}", place=fate.place)
    if later:
        text += say(", {seconds} s later", seconds=later)
    if fate.how == "starved":
        text += say(", for want of another rank")
    if fate.how not in ("failed", "starved"):
        return text
    if told:
        return text + say(": the report is above")
    return text + say(": {error}", error=f"{fate.type}: {_cut(fate.message)}".removesuffix(": "))


def _cut(message: str) -> str:
    text = _IN_SOURCE.sub("", message)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _later(group: Sequence[Fate], start: float) -> str:
    times = [fate.time - start for fate in group if fate.time is not None]
    if not times or group[0].how in ("running", "finished", "interrupted"):
        return ""
    return f"{max(min(times), 0.0):.1f}"
