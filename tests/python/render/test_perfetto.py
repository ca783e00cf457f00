"""Runs as traces: what a viewer reads of one, beside the document that it was made from."""

from __future__ import annotations

import copy
import json
from collections import defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from devsan.render import perfetto


def trace_of(*runs: dict[str, Any]) -> list[dict[str, Any]]:
    return json.loads(perfetto.render(runs))["traceEvents"]


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["ph"] == kind]


def test_every_sample_is_a_value_of_its_counters(failed):
    counters = defaultdict(list)
    for event in of_kind(trace_of(failed.run), "C"):
        counters[event["name"]].append((event["ts"], event["args"]["bytes"]))
    samples = failed.run["memory"]["samples"]
    assert {sample["device"] for sample in samples} == {"cuda:0", "cuda:1"}
    for device in ("cuda:0", "cuda:1"):
        own = [sample for sample in samples if sample["device"] == device]
        for what in ("allocated", "reserved"):
            expected = [(round(sample["time"] * 1e6, 3), sample[what]) for sample in own]
            assert counters.pop(f"{device} {what}") == expected
        for phase in {phase for sample in samples for phase in sample["taken_in"]}:
            expected = [(round(sample["time"] * 1e6, 3), sample["taken_in"].get(phase, 0)) for sample in own]
            assert counters.pop(f"{device} taken in {phase}") == expected
    assert counters == {}


def test_the_transfers_are_all_there(failed):
    events = trace_of(failed.run)
    slices = of_kind(events, "X")
    assert sum(each["args"]["bytes"] for each in slices) == sum(each["bytes"] for each in failed.run["transfers"])
    assert {each["name"] for each in slices} == {"program.py:5", "program.py:7"}
    names = {each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert names == {"cuda:0 \N{RIGHTWARDS ARROW} cuda:1"}


def test_findings_and_the_end_are_marked(failed):
    marks = of_kind(trace_of(failed.run), "i")
    assert [mark["name"].split()[0] for mark in marks] == ["DV102", "end:"]
    assert marks[0]["ts"] == round(failed.run["findings"][0]["time"] * 1e6, 3)


def moved(run: dict[str, Any], *spans: tuple[float, float]) -> dict[str, Any]:
    """The run with other transfers, all of its first place."""
    run = copy.deepcopy(run)
    place = run["places"][0]["id"]
    run["transfers"] = [{"place": place, "time": begin, "until": end, "times": 1, "bytes": 8} for begin, end in spans]
    return run


def test_transfers_that_overlap_have_tracks_of_their_own(failed):
    spans = [(1.0, 4.0), (2.0, 5.0), (4.0, 4.5), (4.5, 4.6), (4.7, 4.7), (5.0, 6.0)]
    tracks = defaultdict(list)
    for event in of_kind(trace_of(moved(failed.run, *spans)), "X"):
        tracks[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert len(tracks) == 2
    assert sum(len(track) for track in tracks.values()) == len(spans)
    for track in tracks.values():
        assert all(before[1] <= after[0] for before, after in pairwise(track))


def test_ranks_are_processes_on_one_time_axis(failed):
    later = copy.deepcopy(failed.run)
    start = datetime.fromisoformat(later["start"].replace("Z", "+00:00")) + timedelta(seconds=2)
    later["start"] = start.isoformat().replace("+00:00", "Z")
    for rank, run in enumerate(runs := [copy.deepcopy(failed.run), later]):
        run["process"].update(rank=rank, world_size=2)
    events = trace_of(*runs)
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert [name.split(" (")[0] for name in names] == ["rank 0", "rank 1"]
    first, second = ([event["ts"] for event in of_kind(events, "C") if event["pid"] == number] for number in (1, 2))
    assert len(first) == len(second) > 0
    assert all(abs(late - early - 2e6) < 0.01 for early, late in zip(first, second, strict=True))
