"""Which failures belong together.

NOTE [Groups] Device failures are one group that have the same code, which names the cause, and the same operator at the
same place, called from the same place. The caller counts because libraries have lines that all models share: attention,
losses. Who placed the operands does not count: with more GPUs the same fault shows with other devices. Places are
compared by function and source line, so that they are the same with another release of a library. Other errors are one
group that have the same type and the same place.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devsan.fix.outcome import Outcome
from devsan.sweep.result import Group, Status

_AROUND = ("torch", "accelerate")  # what fails in them is called from elsewhere
_TRACED = re.compile(r'^ *File "([^"]+)", line (\d+), in (.+)$')
_ERROR = re.compile(r"^([\w.]+)(?::|$)")
_NUMBER = re.compile(r"\d+")


def group_of(outcome: Outcome, status: Status, reason: str, folder: str, cell: str) -> Group:
    """Returns the group that a cell begins, unless it is known.

    Args:
        outcome: of the cell.
        status: of it, which is a failure.
        reason: why, one sentence.
        folder: where it ran: places are shown from there.
        cell: its name.
    """
    if outcome.findings and status == "failed":
        finding = outcome.findings[0]
        frames = _frames_of(finding)[:2]
        place = _shown(frames[0]["path"], frames[0]["line"], folder) if frames else ""
        lines = [_shown(each["path"], None, folder) + each["function"] + each["source"] for each in frames]
        parts = [status, finding["code"], *([finding["op"], *lines] if lines else [finding["id"]])]
        return Group(_id(parts), status, finding["code"], finding["name"], finding["headline"], place, (), cell,
                     dict(finding))  # fmt: skip
    place, function, same = "", "", reason
    if status == "error":
        place, function = _traced(outcome.output, folder)
        kind = _ERROR.match(outcome.error)
        same = kind[1] if kind is not None and function else _NUMBER.sub("", reason)
    parts = [status, same, function]
    return Group(_id(parts), status, "", "", reason, place, (), cell, None, outcome.output)


def _frames_of(finding: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The frames of the program and of the library that it calls, the innermost first."""
    return [frame for frame in finding["stack"] if frame["package"] not in _AROUND] or list(finding["stack"])


def _traced(output: str, folder: str) -> tuple[str, str]:
    """Where the last traceback of ``output`` ends, outside of torch: to show, and to compare."""
    found = [match for line in output.splitlines() if (match := _TRACED.match(line))]
    outside = [match for match in found if f"{os.sep}torch{os.sep}" not in match[1]] or found
    if not outside:
        return "", ""
    path, line, function = outside[-1].groups()
    return _shown(path, int(line), folder), f"{_shown(path, None, folder)}:{function}"


def _shown(path: str, line: int | None, folder: str) -> str:
    """A place, the same in every virtual environment and every copy of the project."""
    short = re.split(r"[/\\](?:site|dist)-packages[/\\]", path)[-1]
    if short == path and Path(path).is_relative_to(folder):
        short = os.path.relpath(path, folder)
    return short if line is None else f"{short}:{line}"


def _id(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:12]
