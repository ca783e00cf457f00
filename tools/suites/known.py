"""The known failures of a suite: a text file, a pattern and a reason a line."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import NamedTuple


class Known(NamedTuple):
    pattern: str  # of file::Class.test, with * and ?
    reason: str


class Unreadable(ValueError):
    """A line without a reason."""


def read_known(path: Path) -> list[Known]:
    """Returns the known failures of a file, none where there is no file."""
    known = []
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = line.partition(" ")
        if not reason.strip():
            raise Unreadable(f"{path}:{number}: expected a pattern and a reason, got {line!r}")
        known.append(Known(pattern, reason.strip()))
    return known


def reason_of(known: list[Known], test: str) -> str:
    """Returns why ``test`` (``file::Class.test``) is known to fail, or nothing. Brackets mean themselves."""
    return next((each.reason for each in known if fnmatch.fnmatchcase(test, each.pattern.replace("[", "[[]"))), "")
