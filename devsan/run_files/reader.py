"""Reads run files back, as the document that docs/reference/run.schema.json describes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from devsan.diagnostics.messages import Message, message, plural, restored
from devsan.errors import DevsanError
from devsan.run_files.jobs import end_of
from devsan.run_files.places import Plain
from devsan.run_files.run_file import FORMAT, PHASES, VERSION

_BEGINNING = b'{"record": "run"'


def read_run(path: str) -> Plain:
    """Returns the run in the file ``path``.

    What a killed process left is whole up to its last line; a last line that is cut off is passed over, and said so
    among the document's ``notes``.

    Raises:
        DevsanError: there is no such file, it is no run file, it is of another version, or a line within is damaged.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except OSError as error:
        raise DevsanError(f"expected a run file, got {path!r}: {error.strerror}") from error
    run = _Run(path)
    rest = lines.pop()
    for number, line in enumerate(lines, start=1):
        run.take(number, _parsed(path, number, line))
    cut_off = None
    if rest:
        try:  # a file that lost nothing but its last line break
            cut_off = json.loads(rest)
            run.take(len(lines) + 1, cut_off)
        except ValueError:
            if not lines:
                what = "whose first line is cut off" if rest.startswith(_BEGINNING) else "which is not one"
                raise DevsanError(f"expected a run file, got {path!r}, {what}") from None
            run.notes.append(_cut_off(len(rest)))
    return run.document()


def _parsed(path: str, number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        what = "which is not one" if number == 1 else f"whose line {number} is damaged"
        raise DevsanError(f"expected a run file, got {path!r}, {what}") from None


class _Run:
    def __init__(self, path: str) -> None:
        self._path = path
        self._head: Plain | None = None
        self._findings: list[Plain] = []
        self._models: list[Plain] = []
        self._places: dict[int, Plain] = {}
        self._transfers: list[Plain] = []
        self._samples: list[Plain] = []
        self._phases: list[tuple[str, float]] = []
        self._peaks: dict[int, tuple[int, int]] = {}
        self._budgets: dict[int, int] = {}
        self._at_peak: list[Plain] = []
        self._end: Plain | None = None
        self._job: Plain | None = None
        self.notes: list[str] = []

    def take(self, number: int, record: Any) -> None:
        if number == 1:
            self._begin(record)
            return
        kind = record.get("record") if isinstance(record, dict) else None
        reader = getattr(self, f"_take_{kind}", None) if isinstance(kind, str) else None
        if reader is None:  # of a later edition of the same version
            return
        try:
            reader(restored(record))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise DevsanError(f"expected a run file, got {self._path!r}, whose line {number} is damaged") from None

    def _begin(self, record: Any) -> None:
        if not isinstance(record, dict) or record.get("record") != "run":
            raise DevsanError(f"expected a run file, got {self._path!r}, which is not one")
        if record.get("version") != VERSION:
            raise DevsanError(
                f"expected a run file of version {VERSION}, got {self._path!r} of version {record.get('version')!r}"
            )
        whole = all(isinstance(record.get(key), kind) for key, kind in _HEAD.items())
        if not whole or not _PROCESS.issubset(record["process"]):
            raise DevsanError(f"expected a run file, got {self._path!r}, whose line 1 is damaged")
        self._head = record

    def _take_gpus(self, record: Mapping[str, Any]) -> None:
        assert self._head is not None
        self._head["gpus"] = list(record["gpus"])

    def _take_finding(self, record: Mapping[str, Any]) -> None:
        finding = {**record["finding"], "count": 1}
        if not _FINDING.issubset(finding):
            raise KeyError("a finding without all its parts")
        for before in self._findings:
            if finding["cause"] and (before["code"], before["cause"]) == (finding["code"], finding["cause"]):
                _add_site(before, finding)
                return
            if before["id"] == finding["id"]:
                _add_site(before, finding)
                return
        self._findings.append(finding)

    def _take_models(self, record: Mapping[str, Any]) -> None:
        self._models += list(record["models"])

    def _take_place(self, record: Mapping[str, Any]) -> None:
        place = record["place"]
        self._places[int(place["id"])] = {**place, "times": 0, "bytes": 0}

    def _take_transfers(self, record: Mapping[str, Any]) -> None:
        for place, time, until, times, size in record["rows"]:
            self._transfers.append({"place": place, "time": time, "until": until, "times": times, "bytes": size})
            self._places[place]["times"] += times
            self._places[place]["bytes"] += size

    def _take_phases(self, record: Mapping[str, Any]) -> None:
        self._phases += [(str(phase), float(time)) for phase, time in record["rows"]]

    def _take_memory(self, record: Mapping[str, Any]) -> None:
        for time, gpu, allocated, reserved, *by_phase in record["rows"]:
            held = dict(zip(("none", *PHASES), by_phase[0], strict=False)) if by_phase else {}
            taken = {phase: size for phase, size in held.items() if size}
            self._samples.append({"time": time, "device": f"cuda:{gpu}", "allocated": allocated, "reserved": reserved,
                                  "taken_in": taken})  # fmt: skip
            self._peak(gpu, allocated, reserved)
        for gpu, allocated, reserved in record["peaks"]:
            self._peak(gpu, allocated, reserved)
        self._budgets.update((int(gpu), int(budget)) for gpu, budget in record["budgets"])

    def _take_peaks(self, record: Mapping[str, Any]) -> None:
        self._at_peak = list(record["peaks"])

    def _peak(self, gpu: int, allocated: int, reserved: int) -> None:
        before = self._peaks.get(gpu, (0, 0))
        self._peaks[gpu] = (max(before[0], allocated), max(before[1], reserved))

    def _take_end(self, record: Mapping[str, Any]) -> None:
        self._end = dict(record["end"])
        for number, times, size in record["totals"]:
            place = self._places[number]
            place["times"], place["bytes"] = max(place["times"], times), max(place["bytes"], size)
        if record["lost"]:
            self.notes.append(
                plural(
                    "{n} transfer has no timestamp: it came faster than it could be written; the totals of each "
                    "place include it",
                    "{n} transfers have no timestamp: they came faster than they could be written; the totals of each "
                    "place include them",
                    int(record["lost"]),
                )
            )

    def _take_job(self, record: Mapping[str, Any]) -> None:
        job = record["job"]
        if not _JOB.issubset(job) or not all(_FINDING.issubset(finding) for finding in job["findings"]):
            raise KeyError("a job without all its parts")
        self._job = job
        if record["cut_off"]:
            self.notes.append(_cut_off(record["cut_off"]))

    def _ended(self, process: Plain, start: str) -> Plain | None:
        """How the process ended, by itself or by what its job knows, which tells its rank too."""
        own = next((rank for rank in self._job["ranks"] if rank["pid"] == process["pid"]), None) if self._job else None
        if self._job is None or own is None:
            return self._end
        process |= {"rank": own["rank"], "local_rank": own["local_rank"]}
        process["world_size"] = max(process["world_size"], len(self._job["ranks"]))
        if self._end is None:
            return end_of(own, start)
        code = self._end["exit_code"]
        return {**self._end, "exit_code": own["code"] if code is None else code}

    def document(self) -> Plain:
        if self._head is None:
            raise DevsanError(f"expected a run file, got {self._path!r}, which is empty")
        gpus = self._head["gpus"]
        devices = []
        for index, gpu in enumerate(gpus):
            allocated, reserved = self._peaks.get(index, (0, 0))
            devices.append({
                "device": gpu["device"], "budget": self._budgets.get(index, gpu["memory"] - gpu["used_memory"]),
                "peak_allocated": allocated, "peak_reserved": reserved,
            })  # fmt: skip
        process = dict(self._head["process"])
        end = self._ended(process, self._head["start"])
        return {
            "format": FORMAT, "version": VERSION, "start": self._head["start"], "process": process,
            "gpus": gpus, "findings": self._findings, "models": self._models,
            "places": list(self._places.values()),
            "phases": _spans(self._phases, end),
            "transfers": sorted(self._transfers, key=lambda transfer: transfer["time"]),
            "memory": {
                "devices": devices, "samples": sorted(self._samples, key=lambda sample: sample["time"]),
                "peaks": self._at_peak,
            },
            "end": end, "notes": self.notes, "job": self._job,
        }  # fmt: skip


def _spans(changes: Sequence[tuple[str, float]], end: Plain | None) -> list[Plain]:
    """The phases by their begins; the last one lasts to the end of the run, where that is known."""
    last = max(end["time"] if end is not None else 0.0, changes[-1][1] if changes else 0.0)
    untils = [time for _, time in changes[1:]] + [last]
    return [
        {"phase": phase, "time": time, "until": until}
        for (phase, time), until in zip(changes, untils, strict=False)
        if phase
    ]


def _cut_off(size: int) -> Message:
    return message("the last line is cut off ({size}): the process was stopped while it wrote",
                   size=plural("{n} byte", "{n} bytes", size))  # fmt: skip


_JOB = {"id", "command", "program", "findings", "ranks", "places"}
_HEAD = {"start": str, "process": dict, "gpus": list}
_PROCESS = {"command", "directory", "pid", "rank", "local_rank", "world_size", "devsan", "python", "torch", "platform"}
_FINDING = {"id", "cause", "code", "name", "title", "headline", "severity", "confidence", "time", "op", "sentence",
            "sites", "also_at", "stack", "operands", "involved", "evidence", "fixes", "candidates",
            "source", "rows", "placed", "notes", "rank", "printed"}  # fmt: skip


def _add_site(before: Plain, finding: Plain) -> None:
    """The same cause at another place, or the same failure once more: one finding with all its sites."""
    here, frame = _frame_of(before), _frame_of(finding)
    if frame is None or here is None or (_is_same(here, frame) and before["op"] == finding["op"]):
        before["count"] += 1
        return
    for site in before["also_at"]:
        if _is_same(site["frame"], frame) and site["op"] == finding["op"]:
            site["count"] += 1
            return
    before["also_at"].append({"frame": frame, "op": finding["op"], "sentence": finding["sentence"], "count": 1})


def _frame_of(finding: Plain) -> Plain | None:
    """The innermost frame of the program, or of all."""
    frames: list[Plain] = finding["stack"]
    return next((frame for frame in frames if not frame["package"]), frames[0] if frames else None)


def _is_same(one: Plain, other: Plain) -> bool:
    return all(one[key] == other[key] for key in ("path", "line", "column", "end_line", "end_column"))
