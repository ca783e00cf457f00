"""The report on a job for the terminal: what was found, then how the ranks ended where that needs words.

Of recorded runs the same, then each run.

train.py, 4 ranks:
  rank 1      killed by SIGKILL
  ranks 0, 2  failed at train.py:12, 0.3 s later, because a peer rank failed: RuntimeError: Connection closed by peer
  rank 3      ended by the launcher at train.py:12, 0.4 s later
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TextIO

from devsan.diagnostics.codec import diagnostic_of
from devsan.job.outcome import Fate, first_of
from devsan.render.known_error import write_known
from devsan.render.language import Language, language_for
from devsan.render.terminal import printer as plain
from devsan.render.terminal.run import write_run
from devsan.render.terminal.stream import unbroken_columns
from devsan.render.terminal.text import Line, broken, padded, paragraph
from devsan.run_files.jobs import launches_of
from devsan.run_files.ranks import ranks_text, sample_text

Job = Mapping[str, Any]
Finding = Mapping[str, Any]

_INDENT = 6
_LONGEST = 72  # characters of an error's first line
_ENDS = {
    "killed": "killed by {signal}",
    "vanished": "exited without a traceback, as by os._exit or a kill",
    "failed": "failed",
    "exited": "exited with code {code}",
    "peer_failed": "failed",
    "terminated": "ended by the launcher",
    "interrupted": "interrupted",
    "running": "still running",
    "finished": "finished",
}  # how a rank ended, in the order in which the lines come
# Where in its own source gloo says it; the group that NCCL's watchdog names, and its C++ class.
_IN_SOURCE = re.compile(r"^\[\S+:\d+\] |^\[(?:PG ID|Rank)[^\]]*\] |: WorkNCCL\(.*$|(?<=ncclRemoteError): .*$")


def write(job: Job, stream: TextIO, language: str = "", shown: Sequence[str] = ()) -> bool:
    """Writes the report on a job; nothing, and False, where there is nothing to say.

    Args:
        job: its diagnosis (devsan/job/diagnosis.py).
        stream: where to write.
        language: by default the chosen one.
        shown: the errors that stand above already, with their sentences.
    """
    say = language_for(stream, language)
    above = [" ".join(text.split()) for text in shown]
    fates = [Fate(**{field.name: rank[field.name] for field in fields(Fate)}) for rank in job["ranks"]]
    for finding in job["findings"]:
        _write_finding(finding, stream, say, any(finding["sentence"] in text for text in above))
    worth = is_worth_telling(fates)
    width = unbroken_columns(stream)
    if worth:
        plain.write_lines(list(lines_of(job, fates, say, width)), stream)
    first = first_of(fates)
    failed = "" if first is None or first.how != "failed" or job["findings"] else first.message
    is_known = write_known(failed, stream, say)
    lists = [job[key] for key in ("places", "caught") if job.get(key)]
    for text in lists:
        for line in f"devsan: {say.text(text)}".split("\n"):
            stream.writelines(f"{piece}\n" for piece in broken(line, width))
        stream.flush()
    return worth or is_known or bool(job["findings"] or lists)


def write_runs(runs: Sequence[Mapping[str, Any]], stream: TextIO, language: str = "") -> None:
    """Writes recorded runs to ``stream``, in color where that is wanted; in ``language``, by default the chosen one."""
    say = language_for(stream, language)
    for launch in launches_of(runs):
        if launch.job is not None:
            write(launch.job, stream, language)
        for run in launch.runs:
            write_run(run, stream, say, with_findings=launch.job is None)


def is_worth_telling(fates: Sequence[Fate]) -> bool:
    """Returns whether the ends say something that the tracebacks do not: a rank without one was the first, or one that
    has one is only a consequence."""
    first = first_of(fates)
    if first is None:
        return False
    return first.how not in ("failed", "exited") or any(fate.how == "peer_failed" for fate in fates)


def lines_of(job: Job, fates: Sequence[Fate], say: Language, width: int) -> Iterator[Line]:
    """Yields the lines about how the ranks ended, the first cause first, in ``width`` columns."""
    first = first_of(fates)
    start = first.time if first is not None else None
    found = {int(rank["rank"]) for rank in job["ranks"] if rank["reported"]}
    groups: dict[tuple[object, ...], list[Fate]] = {}
    for fate in sorted(fates, key=lambda fate: (fate is not first, _order(fate), fate.time or 0.0, fate.rank)):
        code = fate.code if fate.how == "exited" else None
        kind = (fate.how, fate.type, fate.place, code, fate.signal, fate.rank in found)
        groups.setdefault(kind, []).append(fate)
    names = [say.text(ranks_text([fate.rank for fate in group])) for group in groups.values()]
    counted = "{program}, 1 rank:" if len(fates) == 1 else "{program}, {count} ranks:"
    title = say(counted, program=job["program"], count=str(len(fates)))
    if job.get("sample_of"):  # older run files do not have it
        sample = sample_text([fate.rank for fate in fates], job["sample_of"])
        title = say("{program}, {ranks}:", program=job["program"], ranks=say.text(sample))
    yield [(title, "title")]
    for name, group in zip(names, groups.values(), strict=True):
        lead = group[0] is first
        later = "" if lead or start is None else _later(group, start)
        text = _sentence(group[0], later, group[0].rank in found, say)
        head = f"  {padded(name, names)}  "
        yield from paragraph(head, "error" if lead else "title", text, width)


def _write_finding(finding: Finding, stream: TextIO, say: Language, is_shown: bool) -> None:
    if finding["printed"]:
        report = diagnostic_of(finding)
        plain.write(replace(report, sentence="") if is_shown else report, stream, say)
    else:
        name = f"{finding['code'] or ''} {finding['name']}".strip()
        head = f"{say(finding['severity'])}[{name}]: " if name else f"{say(finding['severity'])}: "
        told = f"{say.text(finding['title'])} ({say.text(finding['ranks_text'])})"
        width = unbroken_columns(stream)
        plain.write_lines(list(paragraph(head, finding["severity"], told, width, _INDENT, "title")), stream)


def _order(fate: Fate) -> int:
    return list(_ENDS).index(fate.how)


def _sentence(fate: Fate, later: str, told: bool, say: Language) -> str:
    text = say(_ENDS[fate.how], signal=fate.signal, code=str(fate.code))
    if fate.place:
        text += say(" at {place}", place=fate.place)
    if later:
        text += say(", {seconds} s later", seconds=later)
    if fate.how == "peer_failed" and not told:
        text += say(", because a peer rank failed")
    if fate.how not in ("failed", "peer_failed"):
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
