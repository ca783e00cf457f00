"""What one run of the job came to."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devsan.diagnostics.codes import OF_STREAMS
from devsan.diagnostics.torch_names import REPLICA
from devsan.errors import DevsanError
from devsan.fix.change import Change
from devsan.fix.failure import is_own
from devsan.fix.span import NOWHERE, Span, span_before
from devsan.numbers.comparison import Event, read_events
from devsan.numbers.compilation import compiles
from devsan.run_files import tally
from devsan.run_files.reader import read_run

_TAIL = 60  # lines of stderr that are kept
_OF_RANK = re.compile(r"^\[(?:rank|default)?\d+\]: ?")  # before the lines of a rank: torchrun, torch.distributed
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception)\b")
_FRAME = re.compile(r' +File "(.+)", line (\d+)')
_PORT_IN_USE = re.compile(r"EADDRINUSE|[Aa]ddress already in use")
_MOVES = re.compile(r"\.(?:to|cpu|cuda)\(")
_LAUNCHER = "ChildFailedError"  # raised by torchrun because a rank failed
_OF_OTHERS = ("DistBackendError", "ncclRemoteError")
"""What ranks raise because another rank failed."""


@dataclass(frozen=True)
class Outcome:
    """What one run came to.

    Attributes:
        exit_code: negative for the end by a signal.
        timed_out: whether it was stopped for its time.
        findings: of the run's file, or of the job's, as docs/reference/run.schema.json has them.
        numbers: what it computed, by process.
        peaks: the most that was allocated on each GPU, in bytes.
        places: the lines that moved tensors between devices, as docs/reference/run.schema.json has them.
        seconds: of wall time.
        error: what it ended with: the last exception on stderr, or else the last line.
        output: the end of what it wrote on stderr.
        models: of the run's file, or of the job's, as docs/reference/run.schema.json has them.
        compiles: whether it called torch.compile.
        hosts: by rank, the most bytes of host memory that its CPU tensors without numbers would have taken.
        sent: by rank, the bytes that its collectives would have sent.
        crosses: whether a rank holds memory of a GPU that another rank works on, while each rank has a GPU of its own.
        error_place: the innermost of the user's own lines in the traceback before ``error``, as file:line.
        of_job: the findings of all ranks together, with those that no change is derived from.
    """

    exit_code: int
    timed_out: bool
    findings: Sequence[Mapping[str, Any]]
    numbers: Mapping[str, Sequence[Event]]
    peaks: Mapping[str, int]
    places: Sequence[Mapping[str, Any]]
    seconds: float
    error: str = ""
    output: str = ""
    models: Sequence[Mapping[str, Any]] = ()
    compiles: bool = False
    hosts: Mapping[str, int] = field(default_factory=dict)
    sent: Mapping[str, int] = field(default_factory=dict)
    crosses: bool = False
    error_place: str = ""
    of_job: Sequence[Mapping[str, Any]] = ()

    @property
    def reported(self) -> Mapping[str, Any] | None:
        """Returns the first finding as ``devsan run`` reports it: by what the ranks show together, where they do."""
        first = self.findings[0] if self.findings else None
        if first is None or not first["stack"]:
            return first
        line = _line(first)
        together = (each for each in self.of_job if each["stack"] and each["rank"] == first["rank"])
        return next((each for each in together if _line(each) == line), first)

    @property
    def failure(self) -> str:
        """Returns ``error`` with its place."""
        return f"{self.error} ({self.error_place})" if self.error_place else self.error

    @property
    def lacks_port(self) -> bool:
        """Returns whether it ended because another process listens on its port."""
        return self.exit_code != 0 and _PORT_IN_USE.search(self.output) is not None

    @property
    def transfers(self) -> int:
        """Returns how often tensors moved between devices."""
        return sum(place["times"] for place in self.places)

    @property
    def transferred(self) -> int:
        """Returns the bytes of all transfers."""
        return sum(place["bytes"] for place in self.places)

    @property
    def weights(self) -> dict[str, int]:
        """Returns the bytes of the models' weights on each GPU that holds a tenth of a model's or more."""
        return self.weights_from(1 / 10)

    def weights_from(self, share: float) -> dict[str, int]:
        """Returns the bytes of the models' weights on each GPU that holds ``share`` of a model's or more.

        The replicas that DataParallel makes for a call are no place of the model.
        """
        found: dict[str, int] = {}
        for model in (each for each in self.models if REPLICA not in each["wrappers"]):
            held: Counter[str] = Counter()
            for module in model["modules"]:
                for each in module["tensors"]:
                    held[each["device"]] += each["bytes"]
            for device, size in held.items():
                if device.startswith("cuda") and size >= share * sum(held.values()):
                    found[device] = max(found.get(device, 0), size)
        return found

    @property
    def ran_on(self) -> set[str]:
        """Returns the devices of the weights of the modules that were called; nothing where that is not known."""
        ends = (event for events in self.numbers.values() for event in events if event["kind"] == "end")
        return {device for event in ends for device in event.get("ran_on", ())}

    @property
    def ended(self) -> bool:
        """Whether the program came to its end."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def only_warns(self) -> bool:
        """Whether it came to its end, and shows what is right by luck: what it computes is what it should compute."""
        return self.ended and bool(self.findings) and all(map(is_by_luck, self.findings))

    @property
    def sites(self) -> set[tuple[str, str, str]]:
        """Returns where it failed or would have: operator, file and function, which hardly change."""
        found = set()
        for finding in self.findings:
            sites = [{"frame": finding["stack"][0], "op": finding["op"]}] if finding["stack"] else []
            for site in [*sites, *finding["also_at"]]:
                found.add((site["op"], site["frame"]["path"], site["frame"]["function"]))
        return found

    @property
    def spans(self) -> set[Span]:
        """Returns the expressions that failed or would have."""
        return {
            span_before(frame)
            for finding in self.findings
            for frame in (*finding["stack"][:1], *(site["frame"] for site in finding["also_at"]))
        }

    def span_of(self, changes: Sequence[Change]) -> Span:
        """Returns the expression that failed, where the source had it before ``changes``."""
        failed = bool(self.findings) and bool(self.findings[0]["stack"])
        return span_before(self.findings[0]["stack"][0], changes) if failed else NOWHERE

    def expression_of(self, changes: Sequence[Change]) -> Span:
        """Returns the innermost expression outside of torch that failed, where the source had it before ``changes``."""
        failed = bool(self.findings) and bool(self.findings[0]["stack"])
        return span_before(_outside(self.findings[0]["stack"]), changes) if failed else NOWHERE

    def place_of(self, changes: Sequence[Change]) -> str:
        """Returns where it failed and with which tensors, as the source had it before ``changes``; "" if it did not.

        A move that does nothing shifts columns, and a finding's id with them; this stays. So do operands' names but for
        the moves behind them; they tell several operations of one line apart. Races pass, so that all of them are the
        place: one that nothing is known against may come first each time.
        """
        if self.only_warns:
            return " and ".join(sorted(_race(each, changes) for each in self.findings))
        if not self.findings or not self.findings[0]["stack"]:
            return ""
        tensors = [
            (_MOVES.split(operand["name"] or "")[0], operand["device"], operand["shape"])
            for operand in self.findings[0]["operands"]
        ]
        return f"{self.line_of(changes)} {tensors}"

    def line_of(self, changes: Sequence[Change]) -> str:
        """Returns the operator and the line that failed, as the source had it before ``changes``; "" if none did."""
        if self.findings and is_by_luck(self.findings[0]):
            return _race(self.findings[0], changes)
        if not self.findings or not self.findings[0]["stack"]:
            return ""
        finding, frame = self.findings[0], _outside(self.findings[0]["stack"])
        path, line, *_ = span_before(frame, changes)
        return f"{finding['op']} {path}:{line}"


def _line(finding: Mapping[str, Any]) -> tuple[str, int]:
    frame = next((each for each in finding["stack"] if is_own(each["path"])), finding["stack"][0])
    return frame["path"], frame["line"]


def is_by_luck(finding: Mapping[str, Any]) -> bool:
    """Returns whether a finding is of the check of streams: emulated GPUs run everything in the right order."""
    return finding["name"] in OF_STREAMS.values()


def _race(finding: Mapping[str, Any], changes: Sequence[Change]) -> str:
    path, line, *_ = span_before(finding["sites"][0], changes)
    return f"{finding['code']} {path}:{line}"


def _outside(stack: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The innermost frame outside of torch: two losses of one module of torch fail at two places."""
    return next((frame for frame in stack if frame["package"] != "torch"), stack[0])


def read_outcome(folder: Path, code: int, timed_out: bool, seconds: float) -> Outcome:
    """Returns what a run left in ``folder``: run files, ``numbers``, ``err``."""
    findings: list[Mapping[str, Any]] = []
    job_findings: list[Mapping[str, Any]] = []
    models: list[Mapping[str, Any]] = []
    peaks: dict[str, int] = {}
    places: list[Mapping[str, Any]] = []
    held: dict[int, dict[str, int]] = {}
    for path in sorted(folder.glob("*.dvs")):
        with contextlib.suppress(DevsanError):
            run = read_run(str(path))
            findings += run["findings"]
            models += run["models"]
            if run["job"] is not None and not job_findings:
                job_findings = list(run["job"]["findings"])
            for device in run["memory"]["devices"]:
                peaks[device["device"]] = max(peaks.get(device["device"], 0), device["peak_allocated"])
                held.setdefault(run["process"]["rank"], {})[device["device"]] = device["peak_allocated"]
            places += run["places"]
    # What the ranks together show without operands is told where no rank has a finding of its own, and one has failed:
    # calls that do not match. Memory on another rank's GPU is no failure.
    of_job = job_findings
    job_findings = [each for each in job_findings if each["operands"] or (code != 0 and not findings)]
    beside: dict[str, dict[str, int]] = {}
    with contextlib.suppress(OSError, ValueError):  # no job of ranks
        beside = json.loads(folder.joinpath(tally.RESULT).read_text(encoding="ascii"))
    lines: list[str] = []
    with contextlib.suppress(FileNotFoundError):  # stopped before it began
        lines = folder.joinpath("err").read_text(encoding="utf-8", errors="replace").splitlines()
    lines = [_OF_RANK.sub("", line) for line in lines if not line.startswith("devsan:")]
    own = [line for line in lines if any(map(str.isalnum, line)) and not line.startswith(" ")]  # no rulers
    errors = [line for line in own if _EXCEPTION.match(line) and _LAUNCHER not in line]
    own += [line for line in errors if not any(name in line for name in _OF_OTHERS)] or errors
    error = own[-1] if own else ""
    return Outcome(
        code, timed_out, job_findings or findings, read_events(folder / "numbers"), peaks, places, seconds,
        error, "\n".join(lines[-_TAIL:]), models, compiles(folder / "numbers"),
        **beside, crosses=_crosses(held), error_place=_place_of(error, lines), of_job=of_job,
    )  # fmt: skip


def _place_of(error: str, lines: Sequence[str]) -> str:
    """The innermost of the user's own lines in the traceback whose last line is ``error``."""
    if not _EXCEPTION.match(error):
        return ""
    above = lines[-list(reversed(lines)).index(error) - 1 :: -1][1:]
    traceback = itertools.takewhile(lambda line: line.startswith(" "), above)
    frames = [(found[1], found[2]) for found in map(_FRAME.match, traceback) if found]
    return next((f"{Path(path).name}:{line}" for path, line in frames if is_own(path)), "")


def _crosses(held: Mapping[int, Mapping[str, int]]) -> bool:
    """Whether a rank holds memory of the GPU on which another one has the most.

    Args:
        held: by rank, the most bytes of each GPU.
    """
    used = {rank: devices for rank, devices in held.items() if any(devices.values())}
    own = {rank: max(devices, key=lambda device: devices[device]) for rank, devices in used.items()}
    if len(set(own.values())) < len(own):  # they share GPUs, or each sees one alone
        return False
    return any(size and device != own[rank] and device in own.values()
               for rank, devices in used.items() for device, size in devices.items())  # fmt: skip
