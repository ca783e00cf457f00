"""The samples that differ from the CPU for a reason, from known.toml."""

from __future__ import annotations

import fnmatch
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).resolve().parents[1] / "known.toml"


@dataclass
class Entry:
    """One line: which samples (patterns of subject, kind and difference), and why."""

    subject: str  # database/operator/type
    reason: str
    kinds: list[str] = field(default_factory=lambda: ["*"])
    differs: str = "*"  # every difference of the sample
    always: bool = False  # no sample of these agrees
    once: bool = False  # one sample of each kind is enough to see it
    failing: int = 0
    agreeing: int = 0

    def covers(self, subject: str, kind: str) -> bool:
        return fnmatch.fnmatchcase(subject, self.subject) and any(fnmatch.fnmatchcase(kind, k) for k in self.kinds)

    def explains(self, differences: list[str]) -> bool:
        return all(fnmatch.fnmatchcase(difference, self.differs) for difference in differences)

    def __str__(self) -> str:
        return f"{self.subject} ({', '.join(self.kinds)}): {self.reason}"


def read(path: Path = FILE) -> list[Entry]:
    return [Entry(**line) for line in tomllib.loads(path.read_text(encoding="utf-8"))["known"]]


class Known:
    """Sorts failing samples into known ones and new ones, and finds entries that are out of date."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries

    def explains(self, subject: str, kind: str, differences: list[str]) -> bool:
        for entry in self.entries:
            if entry.covers(subject, kind) and entry.explains(differences):
                entry.failing += 1
                return True
        return False

    def saw_agree(self, subject: str, agreeing: Counter[str]) -> None:
        for entry in self.entries:
            if entry.always:
                entry.agreeing += sum(count for kind, count in agreeing.items() if entry.covers(subject, kind))

    def stale(self, whole: bool) -> list[str]:
        """Entries to take out: samples that they cover agree; or, after a whole run, none failed."""
        found = [f"{entry}: {entry.agreeing} samples agree" for entry in self.entries if entry.agreeing]
        if whole:
            found += [f"{entry}: no sample fails" for entry in self.entries if not entry.failing]
        return found
