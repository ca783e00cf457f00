"""The policy ``warn``: the program goes on after a mismatch, and every place of it is told.

One run then shows all that is wrong, where a GPU would show the first: like AddressSanitizer's halt_on_error=0. What a
call that CUDA refuses computes is told by NOTE [Going on after a mismatch] in core/intercept/alignment.h. A cause is
reported in full where it shows first; its further places follow in a line each, and all of them once more at the end.
A rank of a job leaves all that in its document: the job's owner makes one list of it (devsan/job/places.py).
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from dataclasses import dataclass, replace
from types import CodeType, FrameType, TracebackType
from typing import Any

from devsan import _core
from devsan.diagnosis.build import build
from devsan.diagnosis.cause import explained
from devsan.diagnosis.gc_pause import Paused
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import Message, message
from devsan.errors import tell_failure
from devsan.introspect.explain import Explanation
from devsan.introspect.frames.chain import failure_of
from devsan.introspect.frames.error_match import recognize
from devsan.job import member
from devsan.job.places import Place, text_of
from devsan.options import Options
from devsan.render.notice import notice
from devsan.render.terminal.printer import write
from devsan.run_files import recording

_RECURRENT = "tensors are not at the same device"  # aten/src/ATen/native/RNN.h; a report of it needs the refusal alone

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass
class _Place:
    """A place where the program went on."""

    where: str
    line: tuple[str, int]
    title: str
    cause: str
    times: int = 1


_places: dict[tuple[CodeType, int, str], _Place | None] = {}  # None: refused for something else than devices
_causes: dict[str, str] = {}  # code and name, by the cause's id, in the order in which they showed
_before: list[dict[str, Any]] = []  # a rank's places of emulations that have ended
_silent = False  # format=off
_start_of_threads = threading.Thread.start


def begin(options: Options) -> None:
    """Has this thread, what it starts from now on (threads, backward passes), go on after mismatches.

    Needs a running emulation.
    """
    global _silent
    _silent = not options.is_reported
    _core.start_alignment(_on_mismatch)
    threading.Thread.start = _started  # type: ignore[method-assign]
    atexit.unregister(_at_the_end)
    atexit.register(_at_the_end)


def end() -> None:
    """Has this thread stop at mismatches again, and tells what was found. A second call does nothing."""
    _core.stop_alignment()
    if threading.Thread.start is _started:
        threading.Thread.start = _start_of_threads  # type: ignore[method-assign]
    atexit.unregister(_at_the_end)
    _at_the_end()


def _started(self: threading.Thread) -> None:
    """``Thread.start`` of a thread that goes on after mismatches too: DataParallel's replicas run in such."""
    run = self.run

    def run_joined() -> None:
        vars(self).pop("run", None)
        _core.join_alignment()
        run()

    if "run" not in vars(self):
        self.run = run_joined  # type: ignore[method-assign]
    _start_of_threads(self)


def _on_mismatch(sentence: str) -> None:
    """Told by the core, in the thread that calls the operator. Whatever fails here changes nothing of the program."""
    frame = _innermost(sys._getframe())
    if frame is None:  # a backward pass, on a thread of autograd's: its forward pass has been told
        return
    refusal = _core.last_refusal()
    key = (frame.f_code, frame.f_lasti, refusal.op if refusal is not None else "")
    if key in _places:
        place = _places[key]
        if place is not None:
            place.times += 1
        return
    _places[key] = None
    try:
        _places[key] = _reported(sentence, frame)
        if _speaks_through_its_job():
            _leave_places()  # a rank that is killed has no end
    except Exception as own:
        tell_failure("a mismatch could not be explained", own)


def _innermost(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is not DevSan's."""
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return frame


def _reported(sentence: str, frame: FrameType) -> _Place | None:
    with Paused():
        failure = failure_of(RuntimeError(sentence), _trace_to(frame))
        about_devices = recognize(sentence) is not None or _RECURRENT in sentence
        if failure is None or not about_devices:  # its sizes or dtypes are wrong: that ends it in a moment
            return None
        report, explanation = explained(build(failure), failure, member.patience())
        report = replace(report, severity="warning")
        finding = explanation.findings[0] if explanation is not None and explanation.findings else None
        cause = f"{finding.code} {finding.cause}" if finding is not None else report.title
        site = report.sites[0] if report.sites else None
        where = f"{site.file}:{site.line}:{site.column or 1}" if site is not None else "?"
        earlier = _followed(explanation) if explanation is not None and cause not in _causes else None
        if earlier is not None:
            cause = earlier.cause
        if cause in _causes:
            if not _speaks_through_its_job():
                _tell(message("{where}: {title}: {reason}", where=where, title=report.title,
                              reason=_reason(cause, earlier)))  # fmt: skip
        else:
            _causes[cause] = f"{finding.code} {finding.name}" if finding is not None else ""
            _print(report, explanation)
        recording.add_finding(report, explanation)
        line = (site.path, site.line) if site is not None else ("", 0)
        return _Place(where, line, report.title, cause)


def _followed(explanation: Explanation) -> _Place | None:
    """The place whose result, which a GPU would not have computed, is an operand here."""
    for operand in explanation.facts.failure.operands:
        site = operand.placement.site if operand.placement is not None else None
        for place in _places.values():
            if place is not None and site is not None and place.line == (str(site.file), int(site.span.line)):
                return place
    return None


def _reason(cause: str, earlier: _Place | None) -> Message:
    if earlier is not None:
        return message("with a result of {where}", where=earlier.where)
    if _causes[cause]:
        return message("the same cause as before ({cause})", cause=_causes[cause])
    return message("the same cause as before")


def _trace_to(frame: FrameType) -> TracebackType:
    """A traceback as if ``frame`` had raised, from the program's outermost frame on."""
    trace: TracebackType | None = None
    here: FrameType | None = frame
    while here is not None and not here.f_code.co_filename.startswith(_OWN):
        trace = TracebackType(trace, here, here.f_lasti, here.f_lineno)
        here = here.f_back
    assert trace is not None
    return trace


def _print(report: Diagnostic, explanation: Explanation | None) -> None:
    if member.is_silent():
        member.add(report, explanation)
    elif sys.stderr is not None and not _silent:
        write(report, sys.stderr)


def _tell(sentence: Message) -> None:
    if not _silent:
        notice(sentence)


def _speaks_through_its_job() -> bool:
    return member.is_silent()


def _found() -> list[dict[str, Any]]:
    """The places so far, as a rank's document has them."""
    return [
        {"where": place.where, "title": place.title, "cause": place.cause, "name": _causes[place.cause],
         "times": place.times}
        for place in _places.values()
        if place is not None
    ]  # fmt: skip


def _leave_places() -> None:
    member.leave_places([*_before, *_found()])


def _at_the_end() -> None:
    """Tells all places, by cause; then forgets them."""
    found = _found()
    if found and _speaks_through_its_job():
        _leave_places()
        _before.extend(found)
    elif found:
        _tell(text_of([Place(each["where"], each["title"], each["cause"], each["name"], {0: each["times"]})
                       for each in found]))  # fmt: skip
    _places.clear()
    _causes.clear()
