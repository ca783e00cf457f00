"""Who reads a value that was never computed is told of it, once for each place.

The core calls here when an operator hands such a value to the program, which goes on with a stand-in. The finding is
a note.
"""

from __future__ import annotations

import atexit
import functools
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any

from devsan import _core
from devsan.cuda.patches import Patches
from devsan.diagnosis.gc_pause import Paused
from devsan.diagnosis.source import label_at, site_at
from devsan.diagnostics.codes import all_codes
from devsan.diagnostics.diagnostic import Diagnostic, Fix, Place
from devsan.diagnostics.messages import message
from devsan.errors import tell_failure
from devsan.introspect.frames.frames import Frame, Whose, whose
from devsan.job import member
from devsan.render.terminal.printer import write
from devsan.run_files import recording

NAME = "uncomputed-value"

_AS_ARRAYS = ("__array__", "numpy", "tolist")
"""Methods of a tensor that hand its numbers out without an operator."""

_OWN = (
    "torch/nn/init.py", "torch/amp/grad_scaler.py", "torch/nn/utils/clip_grad.py", "deepspeed/runtime/utils.py",
    "deepspeed/runtime/bf16_optimizer.py", "deepspeed/runtime/fp16/", "deepspeed/runtime/zero/stage_1_and_2.py",
    "deepspeed/runtime/zero/stage3.py", "deepspeed/runtime/zero/partition_parameters.py",
)  # fmt: skip
"""Files that read for themselves whether gradients are finite, or how large, which stand-ins answer: no note."""

_silent = False  # format=off
_told: set[tuple[CodeType, int] | None] = set()  # instructions; None: of a thread without any, a backward pass


def begin(silent: bool, patches: Patches) -> None:
    """Has reads told from now on.

    Args:
        silent: without a report.
        patches: what puts the methods back that are replaced.
    """
    global _silent
    _silent = silent
    _told.clear()
    _core.tell_unknown_reads(_on_read)
    torch: Any = sys.modules["torch"]
    for name in _AS_ARRAYS:
        patches.set(torch.Tensor, name, _telling(getattr(torch.Tensor, name)))
    atexit.unregister(end)
    atexit.register(end)


def end() -> None:
    """Has nothing told any more. A second call does nothing."""
    _core.tell_unknown_reads(None)  # the core outlives the interpreter


def _telling(method: Any) -> Any:
    @functools.wraps(method)
    def told(self: Any, *args: Any, **words: Any) -> Any:
        if _core.is_unknown(self):
            _on_read(method.__name__)
        return method(self, *args, **words)

    return told


def _on_read(op: str) -> None:
    """Told on the thread that reads. Whatever fails here changes nothing of the program."""
    try:
        frame = _of_program(sys._getframe())
        if _reads_for_itself(sys._getframe(), frame):
            return
        key = (frame.f_code, frame.f_lasti) if frame is not None else None
        if key in _told:
            return
        _told.add(key)
        with Paused():
            report = _report(frame)
            if member.is_silent():
                member.add(report, None)
            elif sys.stderr is not None and not _silent:
                write(report, sys.stderr)
            recording.add_finding(report, None)
    except Exception as own:
        tell_failure(f"a read of {op} could not be explained", own)


def _of_program(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the program; without one, of a library."""
    library = None
    while frame is not None:
        owner = whose(frame.f_code.co_filename)
        if owner is Whose.PROGRAM:
            return frame
        if library is None and owner is Whose.LIBRARY:
            library = frame
        frame = frame.f_back
    return library


def _reads_for_itself(frame: FrameType | None, last: FrameType | None) -> bool:
    """Whether a file of ``_OWN`` is between the read and ``last``, the frame that would be told of."""
    while frame is not None:
        file = frame.f_code.co_filename.replace("\\", "/")
        if any(own in file for own in _OWN):
            return True
        if frame is last:
            return False
        frame = frame.f_back
    return False


def _report(running: FrameType | None) -> Diagnostic:
    code = next(each for each in all_codes().values() if each.name == NAME)
    return Diagnostic(
        title=message("a value that was never computed is read"), code=code.code, severity="note", confidence="certain",
        source="devsan", sites=() if running is None else (_site(running),),
        evidence=(
            message("At full size, large tensors have no numbers, nor has what is computed from them."),
            message(
                "The program goes on with a stand-in: 1 for a floating-point number, 0 for an integer, an "
                "index somewhere inside for a choice such as argmax, False for a boolean, or what follows from these."
            ),
        ),
        fixes=(Fix(message("for the real value, run a small model without --full-size"), "certain"),),
    )  # fmt: skip


def _site(running: FrameType) -> Place:
    frame = Frame(TracebackType(None, running, running.f_lasti, running.f_lineno))
    label = label_at(frame, frame.node, offending=True) if frame.node is not None else None
    return site_at(frame, () if label is None else (label,))
