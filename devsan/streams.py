"""The check of streams: what runs in the right order by luck is told, once for each pair of places.

The core keeps the clocks (NOTE [The order of streams] in core/order/monitor.h) and calls here with the two accesses
that nothing orders. The program goes on; what was found is a warning.
"""

from __future__ import annotations

import linecache
import sys
import threading
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import Any

from devsan import _core, core
from devsan.diagnosis.gc_pause import Paused
from devsan.diagnosis.source import shown_path, whole_path
from devsan.diagnostics.codes import all_codes
from devsan.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Place
from devsan.diagnostics.messages import Message, message
from devsan.errors import tell_failure
from devsan.introspect.frames.places import DEVSAN, place_at
from devsan.introspect.frames.values import own_dict
from devsan.job import member
from devsan.options import Options
from devsan.render.terminal.printer import write
from devsan.run_files import recording

Frames = Sequence[tuple[CodeType, int]]
Access = tuple[str, bool, int, int, int, Frames]  # operator, whether it writes, device, stream, bytes, frames

NAMES = {"unordered": "unordered-streams", "freed": "freed-in-use", "pinned": "pinned-in-flight"}

_start_of_threads = threading.Thread.start
_silent = False  # format=off
_told: set[tuple[str, ...]] = set()  # kinds and places: the core tells apart by whole stacks


def begin(options: Options) -> None:
    """Has this thread, and what it starts from now on, watched. Needs a running emulation."""
    global _silent, _start_of_threads
    _silent = not options.is_reported
    _told.clear()
    _core.start_order(_on_race)
    _start_of_threads = threading.Thread.start
    threading.Thread.start = _started  # type: ignore[method-assign]


def end() -> None:
    """Has nothing watched any more. A second call does nothing."""
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
            report = _report(kind, earlier, later, freed)
            if report is None or not _is_first(report):
                return
            if member.is_silent():
                member.add(report, None)
            elif sys.stderr is not None and not _silent:
                write(report, sys.stderr)
            recording.add_finding(report, None)
    except Exception as own:
        tell_failure("a race of streams could not be explained", own)


def _is_first(report: Diagnostic) -> bool:
    pair = (report.code, *(f"{site.path}:{site.line}:{site.column}" for site in report.sites))
    is_new = pair not in _told
    _told.add(pair)
    return is_new


def _report(kind: str, earlier: Access, later: Access, freed: Frames) -> Diagnostic | None:
    here, there = _frame(later[-1]), _frame(earlier[-1])
    if here is None and there is None:  # neither side is the program's own statement
        return None
    code = next(each for each in all_codes().values() if each.name == NAMES[kind])
    sides = {"earlier": _lane(earlier), "later": _lane(later)}
    note = message("the other side")
    sites = [_place(here, _did(later)), _place(there, _did(earlier), note)]
    if kind == "freed":
        sites = [_place(there, _did(earlier)), _place(here, _did(later), message("gets the same memory"))]
        given_back = _place(_frame(freed), "", message("freed here"))
        sites.insert(1, given_back)
    return Diagnostic(
        title=_title(kind, earlier, later), code=code.code, severity="warning", confidence="certain", source="devsan",
        sites=tuple(site for site in sites if site is not None), evidence=_evidence(kind, earlier, later, sides),
        fixes=_fixes(kind, earlier, later, here),
    )  # fmt: skip


def _title(kind: str, earlier: Access, later: Access) -> Message:
    lane, other = _lane(later), _lane(earlier)
    if kind == "freed":
        return message("memory is freed while {lane} still uses it", lane=other)
    if kind == "pinned" and later[1]:
        return message("a pinned buffer is written before the copy on {lane} has read it", lane=other)
    if kind == "pinned":
        return message("a pinned buffer is read before the copy on {lane} has filled it", lane=other)
    if not later[1]:
        return message("{lane} reads a tensor that {other} may still write", lane=lane, other=other)
    if earlier[1]:
        return message("{lane} writes a tensor that {other} may still write", lane=lane, other=other)
    return message("{lane} writes a tensor that {other} may still read", lane=lane, other=other)


def _evidence(kind: str, earlier: Access, later: Access, sides: dict[str, Message]) -> tuple[Message, ...]:
    what = message(
        "{op} on {lane} comes first in the program, then {other_op} on {other}; nothing makes the second wait "
        "for the first.",
        op=earlier[0],
        lane=sides["earlier"],
        other_op=later[0],
        other=sides["later"],
    )
    if kind == "freed":
        return (
            message(
                "{op} used it on {lane}, the allocator knows the stream it was allocated on alone, and "
                "{other_op} on {other} may get the same memory.",
                op=earlier[0],
                lane=sides["earlier"],
                other_op=later[0],
                other=sides["later"],
            ),
            message("On a GPU, the first may then read or overwrite what the second has written."),
        )
    if kind == "pinned" and later[1]:
        return what, message("On a GPU, the copy may send what is written now.")
    return what, message("On a GPU, the result depends on which of the two is faster.")


def _fixes(kind: str, earlier: Access, later: Access, here: core.Frame | None) -> tuple[Fix, ...]:
    other = _stream(earlier)
    if kind == "freed":
        return (
            Fix(message("call record_stream({stream}) on the tensor after it is used there", stream=other), "likely"),
            Fix(
                message(
                    "have the stream that it was allocated on wait for {stream} before the tensor is freed",
                    stream=other,
                ),
                "possible",
            ),
        )
    if earlier[3] < 0:
        return (Fix(message("call wait() on the work of this collective before this line"), "certain"),)
    if later[2] < 0:
        line = f"{other}.synchronize()"
        text = message("wait for the copy before this line: {line}", line=line)
    else:
        line = f"{_stream(later, current=True)}.wait_stream({other})"
        text = message("make the stream wait before this line: {line}", line=line)
    return (Fix(text, "likely", _inserted(line, here), "use_site"),)


def _inserted(line: str, here: core.Frame | None) -> tuple[Edit, ...]:
    """``line`` before the statement at ``here``, where that begins the line that is known."""
    if here is None or here.package or not str(here.source):
        return ()
    number = int(here.span.line)
    text = linecache.getline(str(here.file), number).rstrip("\n")
    stripped = text.strip()
    if not stripped or stripped.split()[0] in ("elif", "else:", "except", "finally:", ")", "]", "}"):
        return ()
    indent = text[: len(text) - len(stripped)] if text.endswith(stripped) else ""
    place = Place(shown_path(str(here.file)), number, 1, number, len(text) + 1, path=whole_path(str(here.file)))
    return (Edit(place, text, f"{indent}{line}\n{text}", safe=False),)


def _frame(frames: Frames) -> core.Frame | None:
    """The innermost frame of the program; without one, the innermost that is not DevSan's."""
    found = [place_at(code, offset) for code, offset in frames]
    outside = [each for each in found if each.package != DEVSAN]
    return next((each for each in outside if not each.package), outside[0] if outside else None)


def _did(access: Access) -> Message:
    lane = _lane(access)
    return message("written on {lane}", lane=lane) if access[1] else message("read on {lane}", lane=lane)


def _place(frame: core.Frame | None, text: str, note: str = "") -> Place | None:
    if frame is None or not frame.file:
        return None
    number, file = int(frame.span.line), str(frame.file)
    source = linecache.getline(file, number).rstrip("\n")
    start = max(int(frame.span.column) - 1, 0)
    end = int(frame.span.end_column) - 1 if frame.span.end_line == number else len(source)
    labels = (Label(number, start, max(end, start + 1), (text,), True),) if text and source else ()
    return Place(shown_path(file), number, start + 1, lines={number: source} if source else {}, labels=labels,
                 note=note, path=whole_path(file))  # fmt: skip


def _lane(access: Access) -> Message:
    device, stream = access[2], access[3]
    if device < 0:
        return message("the host")
    if stream < 0:
        return message("NCCL's stream on cuda:{index}", index=device)
    if stream == 0:
        return message("the default stream of cuda:{index}", index=device)
    return message("stream {stream} of cuda:{index}", stream=_stream(access), index=device)


def _stream(access: Access, current: bool = False) -> str:
    """The stream as the program calls it, where a running frame has a name for it."""
    device, number = access[2], access[3]
    if current:
        return f"torch.cuda.current_stream({_argument(device)})"
    if number == 0:
        return f"torch.cuda.default_stream({_argument(device)})"
    # A backward pass has no frames of its own: what it runs for is on the main thread's.
    main = sys._current_frames().get(threading.main_thread().ident or 0)
    return _name_in(sys._getframe(1), device, number) or _name_in(main, device, number) or "stream"


def _name_in(frame: FrameType | None, device: int, number: int) -> str | None:
    """The name of the stream in ``frame`` or its callers."""
    while frame is not None:
        code = frame.f_code
        if place_at(code, frame.f_lasti).package != DEVSAN:
            for values in (frame.f_locals, frame.f_globals):
                for name, value in list(values.items()):
                    if _is(value, device, number):
                        return name
                    inner = own_dict(value) if name == "self" else {}
                    for attribute, held in list(inner.items()):
                        if _is(held, device, number):
                            return f"self.{attribute}"
        frame = frame.f_back
    return None


def _argument(device: int) -> str:
    return "" if device == _core.current_device() else str(device)


def _is(value: Any, device: int, number: int) -> bool:
    torch: Any = sys.modules["torch"]
    return isinstance(value, torch.Stream) and value.stream_id == number and value.device_index == device
