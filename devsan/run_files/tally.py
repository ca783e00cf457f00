"""What a run comes to: its findings by severity, and how full its GPUs were, of all processes of its job.

<pid>.tally   in the job's folder: "error DV101", "warning ..." or "note ..." for each finding as it comes, and when the
              process ends "peak <GPU> <bytes allocated> <bytes reserved>" for each GPU that it has used
              "beside <rank> <host bytes> <bytes sent>": of a rank, what its CPU tensors would take of the host at full
              size, and what its collectives would send
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from devsan import active_options
from devsan.sample_of_ranks import Sample

ENDING = ".tally"

RESULT = "tally.json"
"""In the folder of an experiment: what its job came to."""

_PEAK = "peak "
_BESIDE = "beside "


@dataclass
class Tally:
    """What a run came to.

    Attributes:
        severities: how many findings there are of each.
        codes: of those that are errors; "" among them where one has none.
        peaks: by the number of the GPU, the most bytes that were allocated and reserved; added up where several
            processes used it, so that they are a bound then.
        shared: the GPUs that several processes used.
        ranks: how many there were; 0 where the program is not a launched job.
        hosts: by rank, the most bytes of host memory that its CPU tensors without numbers would have taken.
        sent: by rank, the bytes that its collectives would have sent.
        sample: which ranks of a launch were started, where these were chosen.
    """

    severities: Counter[str] = field(default_factory=Counter)
    codes: set[str] = field(default_factory=set)
    peaks: dict[int, tuple[int, int]] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)
    ranks: int = 0
    hosts: dict[int, int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    sample: Sample | None = None


_folder = ""
_pid = 0
_lines: list[str] = []
_of_job: Tally | None = None
_kept: list[tuple[int, int, int]] | None = None


def join(folder: str) -> None:
    """Has this process leave its tally in its job's folder, where the job's owner reads it."""
    global _folder, _pid
    _folder, _pid = folder, os.getpid()
    for line in _lines:
        _append(line)


def add(severity: str, code: str = "") -> None:
    """Counts a finding."""
    _lines.append(f"{severity} {code}")
    if _folder:
        _append(_lines[-1])


def keep_peaks() -> None:
    """Takes the peaks of this process's GPUs as they are now for those of the whole run. Never raises."""
    global _kept
    with contextlib.suppress(Exception):
        _kept = _peaks()


def end() -> None:
    """Adds how full this process's GPUs were, when it ends. Never raises. A forked child has only a copy of them."""
    if _folder and os.getpid() == _pid:
        with contextlib.suppress(Exception):
            for gpu, allocated, reserved in _peaks() if _kept is None else _kept:
                _append(f"{_PEAK}{gpu} {allocated} {reserved}")
            if "devsan._core" in sys.modules and os.environ.get("RANK", "").isdecimal():
                core: Any = sys.modules["devsan._core"]
                amounts = (os.environ["RANK"], core.offloaded_peak(), core.bytes_sent())
                _append(_BESIDE + " ".join(map(str, amounts)))


def close(folder: str, of_job: Counter[tuple[str, str]], ranks: dict[int, int], sample: Sample | None) -> None:
    """Adds up what the processes of a job left, before its folder is removed.

    Args:
        folder: of the job.
        of_job: the findings about its ranks by severity and code, in place of those that the ranks have counted.
        ranks: by the id of its process.
        sample: that a launcher has started.
    """
    global _of_job
    tally = Tally(ranks=len(set(ranks.values())), sample=sample)
    for (severity, code), times in of_job.items():
        _count(tally, severity, code, times)
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            pid = name.removesuffix(ENDING)
            if name.endswith(ENDING):
                with open(os.path.join(folder, name), encoding="ascii") as file:
                    _read(tally, file.read().splitlines(), of_job and int(pid) in ranks)
    _of_job = tally


def leave(folder: str) -> None:
    """Leaves what the job came to in ``folder``, of an experiment. Nothing where that has gone."""
    with contextlib.suppress(OSError), open(os.path.join(folder, RESULT), "w", encoding="ascii") as file:
        tally = result()
        json.dump({"hosts": tally.hosts, "sent": tally.sent}, file)


def result() -> Tally:
    """Returns what the job that this process owned came to; of a process without one, what was found in it."""
    if _of_job is not None:
        return _of_job
    tally = Tally()
    _read(tally, _lines, False)
    return tally


def _read(tally: Tally, lines: list[str], is_told_by_job: Any) -> None:
    for line in lines:
        if line.startswith(_PEAK):
            gpu, *amounts = map(int, line.removeprefix(_PEAK).split())
            if gpu in tally.peaks:
                tally.shared.add(gpu)
            allocated, reserved = tally.peaks.get(gpu, (0, 0))
            tally.peaks[gpu] = (allocated + amounts[0], reserved + amounts[1])
        elif line.startswith(_BESIDE):
            rank, *amounts = map(int, line.removeprefix(_BESIDE).split())
            tally.hosts[rank], tally.sent[rank] = amounts
        elif not is_told_by_job:
            severity, _, code = line.partition(" ")
            _count(tally, severity, code)


def _count(tally: Tally, severity: str, code: str, times: int = 1) -> None:
    tally.severities[severity] += times
    tally.codes |= {code} if severity == "error" else set()


def _append(line: str) -> None:
    with contextlib.suppress(OSError):  # the job's owner is gone
        file = os.open(os.path.join(_folder, f"{os.getpid()}{ENDING}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(file, f"{line}\n".encode("ascii"))
        os.close(file)


def _peaks() -> list[tuple[int, int, int]]:
    """The GPUs that were used, by their numbers on the machine, not by those that this process sees."""
    memory: Any = sys.modules.get("devsan.cuda.memory")
    options = active_options.current()
    if memory is not None and options is not None and options.gpus:
        found: list[tuple[int, int, int]] = memory.peaks_of([f"GPU-{device.uuid}" for device in options.devices()])
        return [each for each in found if each[2]]
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():  # to ask would initialize it
        return []
    cuda = torch.cuda
    return [(gpu, cuda.max_memory_allocated(gpu), cuda.max_memory_reserved(gpu)) for gpu in range(cuda.device_count())]
