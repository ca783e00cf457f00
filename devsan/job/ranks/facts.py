"""A rank's document as the core's facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devsan import core
from devsan.diagnosis.source import shown_path
from devsan.introspect.frames.places import DEVSAN, package_of
from devsan.job.peer_errors import is_about_peer
from devsan.job.ranks.flight_recorder import with_what_the_stack_told
from devsan.job.ranks.stack import call_in_text, frame_in_text
from devsan.run_files.places import frame_from
from devsan.run_files.records import collective_from, rank_memory_from, rank_model_from

_TERMINATED = 15


def completed(documents: Mapping[int, Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Returns ``documents`` by rank; those of ranks that could tell nothing have what ranks of one machine share."""
    told = [document["facts"]["process"] | {"host": document["facts"].get("host")}
            for document in documents.values() if (document.get("facts") or {}).get("process")]  # fmt: skip
    known = next((each for each in told if each.get("local_world_size") == each.get("world_size")), None)
    if known is None or known.get("visible_devices"):  # another machine, or another view of the GPUs
        return dict(documents)
    shared = {name: known.get(name) for name in ("world_size", "gpus", "device_count", "backend")}
    return {
        rank: document if document.get("facts") else {
            **document, "facts": {"host": known["host"], "process": {**shared, "rank": rank, "local_rank": rank}},
        }
        for rank, document in documents.items()
    }  # fmt: skip


def rank_facts(document: Mapping[str, Any], calls: Sequence[dict[str, Any]]) -> core.RankFacts:
    """Returns the core's RankFacts.

    Args:
        document: of the rank; its "rank" alone is enough.
        calls: its last collectives, as ``flight_recorder`` returns them.
    """
    facts: Mapping[str, Any] = document.get("facts") or {}
    end: Mapping[str, Any] = facts.get("end") or _told_at_once(document.get("failure"))
    process: Mapping[str, Any] = facts.get("process") or {}
    stack = document.get("stack") or ()  # of a rank that a signal ended: file, line, function
    told = with_what_the_stack_told(calls, facts.get("collectives") or call_in_text(stack))
    # That of a caller of the line recorded.
    around = {name: str(end.get(name) or "") for name in ("condition", "condition_at")}
    told = [call if call["finished"] or call["condition"] else call | around for call in told]
    at = end.get("where") or frame_in_text(stack)
    told = [call if call["finished"] else call | _called_from(call["where"], at) for call in told]
    found = core.RankFacts(
        process=_process(document, process), host=str(facts.get("host") or ""),
        gpus=[str(each) for each in process.get("gpus") or ()], backend=str(process.get("backend") or ""),
        models=[rank_model_from(each) for each in facts.get("models") or ()],
        memory=[rank_memory_from(each) for each in facts.get("memory") or ()],
        collectives=[collective_from(each) for each in told],
        findings=[_own(each) for each in document.get("findings") or ()],
    )  # fmt: skip
    if facts.get("group_made"):
        found.group_made = frame_from(facts["group_made"])
    _settle_end(found, end, document.get("exit") or {})
    if stack and not found.where.file and (where := frame_in_text(stack)) is not None:
        found.where = frame_from(where)
    return found


def _told_at_once(failure: Mapping[str, Any] | None) -> dict[str, Any]:
    """The end of a rank that was killed between its error and its look back, as Lightning kills its first rank."""
    if failure is None:
        return {}
    lines = (line.strip() for line in str(failure["message"]).splitlines())
    sentence = next((line for line in lines if line), "")
    return {"how": "raised", "time": failure["time"], "error": failure["type"], "sentence": sentence[:500]}


def _called_from(where: Mapping[str, Any] | None, at: Mapping[str, Any] | None) -> dict[str, Any]:
    """The program's line of the call that the rank is in, and the library's line that it went through."""
    if where is None or at is None or package_of(str(at["path"])) != "":
        return {}
    package = package_of(str(where["path"]))
    if package == "":
        return {}
    through = "" if package == DEVSAN else f"{shown_path(str(where['path']))}:{where['line']}"
    return {"where": at, "through": through}


def _process(document: Mapping[str, Any], process: Mapping[str, Any]) -> core.Process:
    rank = process.get("rank")
    rank = int(document.get("rank") or 0) if rank is None else int(rank)
    local = process.get("local_rank")
    return core.Process(
        rank=rank, local_rank=rank if local is None else int(local), world_size=int(process.get("world_size") or 1),
        current_device=str(process.get("current_device") or ""),
        set_device_called=bool(process.get("set_device_called")), device_count=int(process.get("device_count") or 0),
        visible_devices=str(process.get("visible_devices") or ""), versions=dict(process.get("versions") or {}),
        environment=dict(process.get("environment") or {}),
    )  # fmt: skip


def _settle_end(found: core.RankFacts, end: Mapping[str, Any], left: Mapping[str, Any]) -> None:
    """How it ended: what the rank itself said, and what the launcher's side saw of its process."""
    ends = core.RankEnd
    how = {"raised": ends.RAISED, "finished": ends.FINISHED, "terminated": ends.TERMINATED, "running": ends.RUNNING}
    found.end = how.get(str(end.get("how") or ""), ends.UNKNOWN)
    found.ended = float(end.get("time") or left.get("time") or 0)
    found.error, found.sentence = str(end.get("error") or ""), str(end.get("sentence") or "")
    found.in_collective = bool(end.get("in_collective"))
    found.peer_failed = is_about_peer(found.sentence)
    if end.get("where"):
        found.where = frame_from(end["where"])
    given: Any = left.get("code")
    code: int | None = None if given is None else int(given)
    signal = int(left.get("signal") or 0)
    if code is not None and code < 0:  # as subprocess tells a signal
        signal = -code
        code = None
    if found.end in (ends.RAISED, ends.TERMINATED):
        return
    if left.get("by_launcher") or signal == _TERMINATED:
        found.end = ends.TERMINATED
    elif signal:
        found.end, found.signal = ends.KILLED, signal
    elif code:
        found.end, found.exit_code = ends.EXITED, int(code)
    elif code == 0:
        found.end = ends.FINISHED


def _own(finding: Mapping[str, Any]) -> core.OwnFinding:
    kind = str(finding.get("kind") or "none").upper()
    return core.OwnFinding(
        code=str(finding.get("code") or ""), cause=str(finding.get("cause") or finding.get("id") or ""),
        title=str(finding.get("title") or ""), sentence=str(finding.get("sentence") or ""),
        kind=core.SentenceKind.__members__.get(kind, core.SentenceKind.NONE),
        severity=core.Severity.__members__[str(finding.get("severity") or "error").upper()],
        placed=[frame_from(place) for place in _placements(finding)],
        devices=[str(operand["device"]) for operand in finding.get("operands") or ()],
    )  # fmt: skip


def _placements(finding: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The program's lines that placed the operands of a rank's own finding."""
    for operand in finding.get("operands") or ():
        for event in operand["provenance"]:
            yield from (frame for frame in event["frames"][:24] if frame["package"] == "")
