"""What happened to each rank, and who was first: the others fail because of it, or are ended by the launcher."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from devsan.diagnosis.source import shown_path
from devsan.introspect.frames.places import package_of
from devsan.job.exit_watcher import Exit
from devsan.job.peer_errors import is_about_peer

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Fate:
    """How one rank ended.

    Attributes:
        rank: its number.
        how: "finished", "failed" by an exception, "killed" by a signal, "exited" with a code, "vanished" without a
            word, "running" still, "interrupted" by whoever ended the whole job; as a consequence of another rank's:
            "peer_failed" because a peer rank had failed, "terminated" by the launcher.
        time: when, in seconds since the epoch; None where nobody knows.
        type: of the exception: "RuntimeError".
        message: its first line.
        place: where it was: "train.py:12".
        code: the exit code.
        signal: "SIGKILL".
    """

    rank: int
    how: str
    time: float | None = None
    type: str = ""
    message: str = ""
    place: str = ""
    code: int | None = None
    signal: str = ""

    @property
    def is_bad(self) -> bool:
        """Returns whether the rank did not simply finish."""
        return self.how not in ("finished", "running", "interrupted")

    @property
    def is_consequence(self) -> bool:
        """Returns whether the rank ended because another one had."""
        return self.how in ("peer_failed", "terminated")


def exit_fields(ended: Exit | None, by_launcher: bool = False) -> dict[str, Any] | None:
    """Returns the field "exit" of a rank's document."""
    if ended is None:
        return None
    return {"code": ended.code, "signal": ended.signal, "time": ended.time, "by_launcher": by_launcher}


def fates_of(documents: Sequence[Document]) -> list[Fate]:
    """Returns how the ranks ended, by rank. The documents have the field "exit" already.

    A signal by which launchers end what is left counts as theirs once another rank had ended badly; where none had, the
    job was interrupted from outside.
    """
    found = [_fate(document) for document in documents]
    causes = [fate.time for fate in found if fate.is_bad and not _may_be_launcher(fate) and fate.time is not None]
    first = min(causes, default=None)
    return [
        replace(fate, how="interrupted" if first is None else "terminated")
        if _may_be_launcher(fate) and (first is None or fate.time is None or fate.time >= first)
        else fate
        for fate in found
    ]


def first_of(fates: Sequence[Fate]) -> Fate | None:
    """Returns the rank whose end the others' followed from; None where all is well, or nobody can say."""
    bad = [fate for fate in fates if fate.is_bad]
    own = [fate for fate in bad if not fate.is_consequence]
    timed = [fate for fate in own or bad if fate.time is not None]
    return min(timed, key=lambda fate: fate.time or 0.0) if timed else next(iter(own or bad), None)


def _fate(document: Document) -> Fate:
    rank = int(document["process"]["rank"])
    failure, end, ended = document["failure"], document["end"], document.get("exit")
    code = ended["code"] if ended is not None else None
    if failure is not None:
        lines = str(failure["message"]).strip().splitlines()
        about_peers = [line for line in lines if is_about_peer(line)]
        # NCCL's own word comes behind a line about its source.
        message = min(about_peers, key=len) if about_peers else next(iter(lines), "")
        how = "peer_failed" if about_peers else "failed"
        return Fate(rank, how, failure["time"], str(failure["type"]), message, failure["place"], code)
    place = _where(document)
    if ended is not None and ended["signal"] is not None:
        return Fate(rank, "killed", ended["time"], place=place, signal=_name(ended["signal"]))
    if code and not document["stack"]:
        return Fate(rank, "exited", ended["time"] if ended is not None else None, code=code)
    if end is not None and end["how"] == "terminated":
        return Fate(rank, "killed", end["time"], place=place, signal="SIGTERM")
    if end is not None or code == 0:
        return Fate(rank, "finished", end["time"] if end is not None else ended["time"], code=code)  # type: ignore[index]
    if ended is not None:
        if document["stack"]:  # written when SIGTERM came
            return Fate(rank, "killed", ended["time"], place=place, signal="SIGTERM")
        return Fate(rank, "vanished", ended["time"])
    return Fate(rank, "running")


def _may_be_launcher(fate: Fate) -> bool:
    """torchrun sends SIGTERM and after 30 s SIGKILL; DeepSpeed and Lightning SIGTERM; torch.multiprocessing both."""
    return fate.how == "killed" and fate.signal in ("SIGTERM", "SIGINT")


def _where(document: Document) -> str:
    """Where the rank was when SIGTERM came: the program's innermost line."""
    for frame in document["stack"]:
        if package_of(frame["file"]) == "":
            return f"{shown_path(frame['file'])}:{frame['line']}"
    return ""


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
