"""A process's flight recorder of collectives (core/collectives/flight_recorder.h) as the ranks' facts need it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from devsan import core
from devsan.core_library import core_with_torch
from devsan.job.ranks.source import rank_condition


def read(path: str) -> dict[str, Any]:
    """Returns the recording at ``path``, as the core reads it: "rank", "groups", "collectives".

    Raises:
        ValueError: it is no recording, or was cut off.
    """
    recording = core.read_flight_recorder(path) if core_with_torch() is not None else None
    if recording is None:
        raise ValueError(f"expected a recording of collectives, got {path}")
    return recording


def by_rank(recordings: Iterable[Mapping[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Returns what each rank did last, what it is in first.

    In each group: the collective that it is in, the oldest of those that run, or else its last one; and those by which
    it met what other ranks are in.
    """
    calls: dict[int, dict[tuple[str, int], dict[str, Any]]] = {}
    kept: dict[int, dict[str, dict[str, Any]]] = {}
    for recording in recordings:
        rank = int(recording["rank"])
        calls[rank], kept[rank] = {}, {}
        for call in _calls(recording, rank):
            if call["sequence"]:
                calls[rank][call["group"], call["sequence"]] = call
            before = kept[rank].get(call["group"])
            if before is None or before["finished"]:  # a group carries them out in the order of their numbers
                kept[rank][call["group"]] = call
    awaited = {(call["group"], call["sequence"]) for last in kept.values() for call in last.values()
               if not call["finished"]}  # fmt: skip
    found = {}
    for rank, last in kept.items():
        met = [call for key, call in calls[rank].items() if key in awaited and call not in last.values()]
        found[rank] = sorted([*last.values(), *met], key=lambda call: (call["finished"], call["since"]))
    return found


def waited_in(recordings: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """Returns, by rank, the name of the collective that it had entered and not left."""
    first = {rank: calls[0] for rank, calls in by_rank(recordings).items() if calls}
    return {rank: call["name"] for rank, call in first.items() if not call["finished"]}


def _calls(recording: Mapping[str, Any], rank: int) -> Iterator[dict[str, Any]]:
    members = {str(group["group"]): [int(each) for each in group["ranks"]] for group in recording["groups"]}
    names = {str(group["group"]): "default" for group in recording["groups"] if group["description"] == "default_pg"}
    for entry in recording["collectives"]:  # the oldest first
        call = _call(entry, members, rank)
        yield call | {"group": names.get(call["group"], call["group"])}


def _call(entry: Mapping[str, Any], members: Mapping[str, Sequence[int]], rank: int) -> dict[str, Any]:
    file, line, group = str(entry["file"]), int(entry["line"]), str(entry["group"])
    where = None
    if file:
        where = {"path": file, "line": line, "column": 0, "function": str(entry["function"]), "package": ""}
    between_two = entry["name"] in ("send", "recv") and int(entry["peer"]) >= 0
    return {
        "group": group, "members": [rank, int(entry["peer"])] if between_two else list(members.get(group, ())),
        "sequence": 0 if between_two else int(entry["sequence"]), "name": str(entry["name"]),
        "shapes": [[int(size) for size in entry["shape"]]] if entry["shape"] else [], "bytes": int(entry["bytes"]),
        "dtype": str(entry["dtype"]), "device": str(entry["device"]), "since": float(entry["started"]),
        "finished": entry["state"] == "done", "where": where, "condition": rank_condition(file, line) if file else "",
    }  # fmt: skip


def with_what_the_stack_told(calls: Sequence[dict[str, Any]], told: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns the recorded calls; where there are none, those that the rank's own stack told."""
    return list(calls) or [dict(each) for each in told]
