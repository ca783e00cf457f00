"""Device errors that the program catches: nobody sees their traceback, so their places are told when the process ends.

Which of torch's errors is caught, Python does not tell. The core says when it refuses a call; what nothing has
explained by the end of the process, the program has caught. Only places are kept: frames would keep tensors alive.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from types import CodeType, FrameType

from devsan import _core, core
from devsan.errors import tell_failure
from devsan.job import member
from devsan.job.places import Place, caught_text_of
from devsan.options import Options
from devsan.render.notice import notice

_MOST = 64  # places

Spot = tuple[CodeType, int]
_refused: dict[tuple[Spot, str], tuple[core.Refusal, set[int]]] = {}  # by place and operator: the first, all numbers


def begin(options: Options) -> None:
    """Has refused calls noted. Needs a running emulation."""
    if options.is_reported:
        _core.listen_to_refusals(_on_refusal)
        atexit.unregister(_at_the_end)
        atexit.register(_at_the_end)


def end() -> None:
    """Stops noting. What was noted is told at the end of the process: an error may still be on its way to a report."""
    _core.listen_to_refusals(None)


def _on_refusal() -> None:
    """Called by the core, in the thread that calls the operator. Whatever fails here changes nothing of the program."""
    try:
        refusal, spot = _core.last_refusal(), _spot()
        if refusal is None or spot is None:
            return
        key = (spot, refusal.op)
        if key in _refused or len(_refused) < _MOST:
            _refused.setdefault(key, (refusal, set()))[1].add(refusal.number)
    except Exception as own:
        tell_failure("a device error could not be noted", own)


def _spot() -> Spot | None:
    """Where the program is: in its own innermost code, else in the innermost library's. None in DevSan's own work."""
    from devsan.introspect.frames.places import DEVSAN, PYTHON, package_of

    frames = list(_frames(sys._getframe(1).f_back))
    if not frames:  # a thread of autograd's; the program waits for it
        frames = list(_frames(sys._current_frames().get(threading.main_thread().ident or 0)))
    packages = [package_of(frame.f_code.co_filename) for frame in frames]
    if not frames or packages[0] == DEVSAN:
        return None
    own = next((at for at, package in enumerate(packages) if not package), None)
    if own is None:
        own = next((at for at, package in enumerate(packages) if package not in ("torch", DEVSAN, PYTHON)), 0)
    return frames[own].f_code, frames[own].f_lasti


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _at_the_end() -> None:
    """Tells the places at which nothing was explained: replicas fail at one place, and one of them is enough.

    A test runner catches every error and reports it itself.
    """
    if not _refused or "_pytest" in sys.modules:
        return
    from devsan.introspect.explain import explained_refusals

    places = []
    for (spot, _), (refusal, numbers) in _refused.items():
        title = "" if numbers & explained_refusals else _title(refusal)
        if title:
            places.append(Place(_where(spot), title, "", "", {0: len(numbers)}))
    _refused.clear()
    if places and member.is_silent():
        member.leave_places([{**asdict(place), "times": place.times[0]} for place in places], "caught")
    elif places:
        notice(caught_text_of(places))


def _title(refusal: core.Refusal) -> str:
    """What was refused; "" where it was not for devices."""
    from devsan.diagnosis.titles import title_of
    from devsan.introspect.frames.error_match import recognize

    sentence = recognize(refusal.message)
    if sentence is None:
        return ""
    devices = list(dict.fromkeys(operand.device for operand in refusal.operands))
    return title_of(sentence, str(refusal.op).split(".")[0], devices, None, None)  # without the overload


def _where(spot: Spot) -> str:
    from devsan.diagnosis.source import shown_path
    from devsan.introspect.frames.places import place_at

    place = place_at(*spot)
    return f"{shown_path(str(place.file))}:{place.span.line}:{place.span.column or 1}"
