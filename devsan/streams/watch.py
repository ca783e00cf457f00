"""The check of streams: what runs in the right order by luck is told, once for each pair of places.

The core keeps the clocks (NOTE [The order of streams] in core/order/monitor.h) and calls here with the two accesses
that nothing orders. The program goes on; what was found is a warning. Of several that one change repairs, the first is
told whole.
"""

from __future__ import annotations

import sys
import threading
from typing import TextIO

from devsan import _core
from devsan.diagnosis.gc_pause import Paused
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.errors import tell_failure
from devsan.job import member
from devsan.options import Options
from devsan.render.terminal.printer import write, write_further
from devsan.run_files import recording
from devsan.streams import host_reads
from devsan.streams.access import Access, Frames
from devsan.streams.report import report_of

_start_of_threads = threading.Thread.start
_silent = False  # format=off
_told: set[tuple[str, ...]] = set()  # kinds and places: the core tells apart by whole stacks
_shown: dict[tuple[Edit, ...], set[str]] = {}  # the places of races by the change that ends them


def begin(options: Options) -> None:
    """Has this thread, and what it starts from now on, watched. Needs a running emulation."""
    global _silent, _start_of_threads
    _silent = not options.is_reported
    _told.clear()
    _shown.clear()
    _core.start_order(_on_race)
    _start_of_threads = threading.Thread.start
    threading.Thread.start = _started  # type: ignore[method-assign]
    host_reads.begin()


def end() -> None:
    """Has nothing watched any more. A second call does nothing."""
    host_reads.end()
    _core.stop_order()
    if threading.Thread.start is _started:
        threading.Thread.start = _start_of_threads  # type: ignore[method-assign]


def _started(self: threading.Thread) -> None:
    run = self.run

    def run_joined() -> None:
        vars(self).pop("run", None)
        _core.join_order()
        run()

    if "run" not in vars(self):
        self.run = run_joined  # type: ignore[method-assign]
    _start_of_threads(self)


def _on_race(kind: str, earlier: Access, later: Access, freed: Frames) -> None:
    """Told by the core, on the thread of the later access. Whatever fails here changes nothing of the program."""
    try:
        with Paused():
            report = report_of(kind, earlier, later, freed)
            if report is None or not _is_first(report):
                return
            if member.is_silent():
                member.add(report, None)
            elif sys.stderr is not None and not _silent:
                _write(report, sys.stderr)
            recording.add_finding(report, None)
    except Exception as own:
        tell_failure("a race of streams could not be explained", own)


def _is_first(report: Diagnostic) -> bool:
    pair = (report.code, *(f"{site.path}:{site.line}:{site.column}" for site in report.sites))
    is_new = pair not in _told
    _told.add(pair)
    return is_new


def _write(report: Diagnostic, stream: TextIO) -> None:
    """Writes the report, or where it is if its change was shown; once for each line."""
    edits = report.fixes[0].edits if report.fixes else ()
    places = _shown.setdefault(edits, set()) if edits else set()
    place = f"{report.code} {report.sites[0].path}:{report.sites[0].line}"
    if not places:
        write(report, stream)
    elif place not in places:
        write_further(report, stream)
    places.add(place)
