"""The dtypes that differ from torch's list for CUDA for a reason, from known.toml."""

from __future__ import annotations

import fnmatch
import sys
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).parent / "known.toml"


@dataclass
class Entry:
    """Operators and dtypes (patterns), in which direction they differ, and why."""

    operator: str
    dtypes: list[str]
    runs: bool  # here, and torch does not list it for CUDA; otherwise the other way round
    reason: str
    backward: bool = False
    seen: int = 0

    def __str__(self) -> str:
        return f"{self.operator} ({', '.join(self.dtypes)}): {self.reason}"


def read() -> list[Entry]:
    return [Entry(**line) for line in tomllib.loads(FILE.read_text(encoding="utf-8"))["known"]]


class Known:
    """Sorts differences into known ones and new ones, and finds entries that are out of date."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries

    def explains(self, operator: str, dtype: str, backward: bool, runs: bool) -> bool:
        for entry in self.entries:
            same_kind = entry.backward == backward and entry.runs == runs
            matches = fnmatch.fnmatchcase(operator, entry.operator)
            if same_kind and matches and any(fnmatch.fnmatchcase(dtype, each) for each in entry.dtypes):
                entry.seen += 1
                return True
        return False

    def stale(self) -> list[str]:
        """After a whole run: entries that no difference needed."""
        return [str(entry) for entry in self.entries if not entry.seen]
