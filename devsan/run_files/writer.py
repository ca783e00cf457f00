"""Writes a run file while the program runs: a thread that looks every now and then, and whoever has a finding."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

from devsan import core
from devsan.diagnostics.messages import recorded
from devsan.errors import tell
from devsan.run_files.movement import Movement
from devsan.run_files.peaks import Peaks
from devsan.run_files.phases import Phases
from devsan.run_files.places import Plain
from devsan.run_files.run_file import VERSION, open_new
from devsan.run_files.samples import Samples

_SHORTEST, _LONGEST = 0.05, 1.0  # seconds between two looks: a hundredth of the run so far
_MANY = 50_000  # rows; from there on a look comes every five-hundredth of the run, so that the file stays small
_TRIES = 5  # looks in a row that may fail: what the program changes meanwhile is whole the next time
_PATIENCE = 2.0  # seconds that the end of the process waits for the thread


class RunWriter:
    """One run file, from the start of the emulation to the end of the process.

    Args:
        emulated: the core records; on real GPUs transfers and memory are not seen.
        pattern: the name, as ``devsan.run_files.run_file.name_of`` reads it.
        launched: seconds since the epoch; see NOTE [Whose run file].
        process: what the first line says of the process; asked when the file is opened.
        gpus: and of the GPUs, as far as is known by then.
        lazily: open the file when there is something to say besides.
        opened: called when there is a file.
        always: open the file at the end at the latest.
        force: replace the file of an earlier launch.
    """

    def __init__(
        self,
        emulated: bool,
        pattern: str,
        launched: float,
        process: Callable[[], Plain],
        gpus: Callable[[], list[Plain]],
        lazily: bool,
        opened: Callable[[], None] = lambda: None,
        always: bool = False,
        force: bool = False,
    ) -> None:
        self.path: str | None = None
        self.start = time.monotonic_ns()
        self._pattern, self._launched, self._force = pattern, launched, force
        self._began = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._process, self._opened = process, opened
        self._find_gpus, self._gpus, self._gpus_settled = gpus, list[Plain](), False
        self._always = always
        self._file: int | None = None
        self._failed = False
        self._lock = threading.RLock()
        self._movement = Movement(self.start) if emulated else None
        self._samples = Samples()
        self._peaks = Peaks() if emulated else None
        self._phases = Phases(self.start) if emulated else None
        self._most: dict[int, tuple[int, int]] = {}  # at the peaks, as they were written last
        self._rows = 0
        self._stop = threading.Event()
        if not lazily:
            self._open()
        self._thread = threading.Thread(target=self._look, name="devsan-run-file", daemon=True)
        if self._peaks is not None:
            self._peaks.follow()
        if emulated:
            core.start_timeline()
            self._thread.start()
        if self._phases is not None:
            self._phases.install()

    @property
    def seconds(self) -> float:
        """Returns how long the run has lasted."""
        return round((time.monotonic_ns() - self.start) * 1e-9, 6)

    def write(self, record: str, **fields: Any) -> None:
        """Writes one line. Tells of an error once, and from then on does nothing."""
        with self._lock:
            if self._file is None:
                self._open()
            if self._file is not None:
                self._put({"record": record, **fields})

    def fetch(self, last: bool = False) -> None:
        """Writes what the core has recorded since the last time; the ``last`` time in the program's own thread."""
        with self._lock:
            if self._failed or self._movement is None:
                return
            places, transfers, samples = self._movement.fetch()
            rows = self._samples.worth(samples)
            if self._file is None and not transfers and not any(row[3] for row in rows):
                return  # nothing was done on a GPU yet
            self._look_at_gpus()
            for place in places:
                self.write("place", place=place)
            if transfers:
                self.write("transfers", rows=transfers)
            if rows or self._movement.peaks != self._most:  # what rose and fell between two looks changes no row
                self._most = dict(self._movement.peaks)
                peaks = [[gpu, *most] for gpu, most in self._most.items()]
                self.write("memory", rows=rows, peaks=peaks, budgets=self._samples.budgets(self._movement.peaks))
            changes = self._phases.fresh() if self._phases is not None else []
            if changes:
                self.write("phases", rows=changes)
            if self._peaks is not None:
                self._peaks.follow()
                if last:
                    self._peaks.look()
                fresh = self._peaks.fresh()
                if fresh:
                    self.write("peaks", peaks=fresh)
            self._rows += len(transfers) + len(rows)

    def finish(self, end: Callable[[], Plain], models: Callable[[], Sequence[Plain]]) -> None:
        """Writes the rest and how the run ended, and closes the file. Nothing, where there was nothing to say."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)
        with self._lock:
            self.fetch(last=True)
            if self._file is None and self._always:
                self._open()
            if self._file is None:
                return
            found = models()
            if found:
                self.write("models", models=list(found))
            movement = self._movement
            totals, lost = (movement.totals(), movement.lost) if movement is not None else ([], 0)
            self.write("end", end=end(), totals=totals, lost=lost)
            self._stop_timeline()
            file, self._file, self._failed = self._file, None, True
            if file is not None:
                os.close(file)

    def forget(self) -> None:
        """Lets go of everything in a forked child: the file and the thread are the parent's."""
        file, self._file, self._failed = self._file, None, True
        if file is not None:
            os.close(file)
        self._stop_timeline()

    def _look_at_gpus(self) -> None:
        """Once GPUs are in use: CUDA_VISIBLE_DEVICES counts as it is at their first use, not at the start."""
        if self._gpus_settled or self._movement is None or not self._movement.peaks:
            return
        self._gpus_settled = True
        gpus = self._find_gpus()
        if gpus != self._gpus:
            self.write("gpus", gpus=gpus)

    def _open(self) -> None:
        if self._failed:
            return
        try:
            self._gpus = self._find_gpus()
            head = {"record": "run", "version": VERSION, "start": self._began, "process": self._process(),
                    "gpus": self._gpus}  # fmt: skip
            self._file, self.path = open_new(self._pattern, self._launched, self._force)
        except Exception as error:
            self._give_up(error)
            return
        self._put(head)
        self._opened()

    def _put(self, record: Plain) -> None:
        line = json.dumps(recorded(record), ensure_ascii=True, default=str).encode("ascii") + b"\n"
        try:
            while line and self._file is not None:
                line = line[os.write(self._file, line) :]
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._failed = True
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._stop_timeline()
        tell(f"the run is no longer recorded: {error}")

    def _stop_timeline(self) -> None:
        if self._movement is not None:
            core.stop_timeline()
        if self._peaks is not None:
            self._peaks.end()
        if self._phases is not None:
            self._phases.end()

    def _look(self) -> None:
        """The thread. It must not die loudly: the program goes on."""
        pause = _SHORTEST
        tries = 0
        while not self._stop.wait(pause) and not self._failed:
            try:
                self.fetch()
                tries = 0
            except Exception as error:
                tries += 1
                if sys.is_finalizing():
                    return
                if tries == _TRIES:
                    self._give_up(error)
                    return
            seconds = self.seconds
            pause = min(max(_SHORTEST, seconds / 100), _LONGEST)
            if self._rows > _MANY:
                pause = max(pause, seconds / 500)
