"""The file in which a sweep keeps what its cells came to, so that it can go on where it was stopped.

NOTE [The state of a sweep] Lines of JSON, each written when a cell has ended: {"record": "sweep", "version"} first,
then {"record": "cell"}, {"record": "group"} with the report of one of its cells, {"record": "fix"}. The last one of a
key counts. Cells that the matrix has no longer stay. A line that was being written when the sweep was killed is passed
over.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from devsan.diagnostics.codec import from_plain, to_plain
from devsan.diagnostics.messages import recorded, restored
from devsan.errors import DevsanError
from devsan.sweep.result import CellResult, Group, GroupFix

VERSION = 1


class State:
    """What is known of the cells of a sweep. A context manager, which holds the file. May be used by several threads.

    Attributes:
        cells: by their keys.
        groups: by their ids, each with the report of one cell; ``cells`` and ``fix`` are not filled in.
        fixes: by the ids of the groups.

    Args:
        path: of the file.
        fresh: begin anew.
    """

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path = path
        self.cells: dict[str, CellResult] = {}
        self.groups: dict[str, Group] = {}
        self.fixes: dict[str, GroupFix] = {}
        self._fresh = fresh
        self._file: TextIO | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> State:
        """Opens the file and reads it.

        Raises:
            DevsanError: it cannot be written, another sweep holds it, or it is the file of something else.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path, "a+", encoding="utf-8")  # closed by __exit__
        except OSError as error:
            raise DevsanError(
                f"expected a file for the sweep's state, got {str(self.path)!r}: {error.strerror}"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise DevsanError(f"expected one sweep with the state {str(self.path)!r}, got another that runs") from error
        self._file.seek(0)
        text = self._file.read()
        self._read(text)
        if self._fresh:
            self._file.truncate(0)
            self.cells, self.groups, self.fixes, text = {}, {}, {}, ""
        if text and not text.endswith("\n"):
            self._file.write("\n")
        if not text:
            self._write("sweep", {"version": VERSION})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._file is not None
        self._file.close()

    def add(self, result: CellResult, group: Group | None) -> None:
        """Keeps what a cell came to, and the group that it begins."""
        with self._lock:
            if group is not None and group.id not in self.groups:
                self.groups[group.id] = group
                self._write("group", to_plain(group))
            self.cells[result.key] = result
            self._write("cell", to_plain(result))

    def add_fix(self, group: str, fix: GroupFix) -> None:
        """Keeps what was found for a group."""
        with self._lock:
            self.fixes[group] = fix
            self._write("fix", {"group": group, "fix": to_plain(fix)})

    def _write(self, record: str, content: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(recorded({"record": record, **content}), ensure_ascii=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, text: str) -> None:
        lines = text.split("\n")
        for number, line in enumerate(lines):
            try:
                record = restored(json.loads(line)) if line else {}
            except (ValueError, AttributeError, TypeError):
                record = {}  # a sweep was killed while it wrote
            if number == 0 and line and record.get("record") != "sweep":
                raise DevsanError(f"expected the state of a sweep, got {str(self.path)!r}, which is something else")
            if number == 0 and line and record["version"] != VERSION:
                raise DevsanError(
                    f"expected a state of version {VERSION}, got {str(self.path)!r} of version {record['version']!r}"
                )
            with contextlib.suppress(ValueError, KeyError):  # of another edition: the cell runs again
                self._take(record)

    def _take(self, record: Mapping[str, Any]) -> None:
        kind = record.get("record")
        if kind == "cell":
            cell = from_plain(CellResult, record)
            self.cells[cell.key] = cell
        elif kind == "group":
            group = from_plain(Group, record)
            self.groups[group.id] = group
        elif kind == "fix":
            self.fixes[str(record["group"])] = from_plain(GroupFix, record["fix"])
