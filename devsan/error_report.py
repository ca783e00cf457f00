"""DevSan's report on a device error, printed under the traceback: from the exception to facts, diagnosis and text.

Where this process is a rank of a job, the job speaks. Nothing of the program runs for it: see NOTE [Nothing runs] in
introspect/frames/values.py.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from devsan import active_options
from devsan.diagnosis.gc_pause import Paused
from devsan.introspect.frames.chain import failure_of, links_of
from devsan.job import member

if TYPE_CHECKING:
    from devsan.diagnostics.diagnostic import Diagnostic
    from devsan.introspect.explain import Explanation

Show = Callable[[io.StringIO, "Diagnostic", "Explanation | None"], None]

_show: Show | None = None


def show_by(show: Show | None) -> None:
    """Has reports shown by ``show``, which gets each as text and as it was made, and not printed on stderr.

    Args:
        show: what shows them; None for stderr again.
    """
    global _show
    _show = show


def on_exception(
    exc_type: type[BaseException] | None,
    exc: BaseException,
    tb: TracebackType | None,
    stream: TextIO | None = None,
    is_shown: bool = False,
) -> bool:
    """Prints a report if ``exc``, or what it was raised from, refuses a device. Never raises.

    Of a few other errors it says in a note what is known of them, where it prints on stderr.

    Args:
        exc_type: as ``sys.excepthook`` gets it; not needed.
        exc: the exception.
        tb: its traceback.
        stream: where to print; stderr by default.
        is_shown: whether the traceback stands above, and with it the sentence of the error.

    Returns:
        Whether something was printed.
    """
    out = sys.stderr if stream is None else stream
    if out is None:  # a program without a console
        return False
    try:
        with Paused():
            failure = failure_of(exc, tb)
            if failure is None:
                return stream is None and _tell_what_is_known(exc, out)
            from devsan import failure_report  # most exceptions are about something else

            if stream is None and member.is_silent():
                failure_report.tell_job(failure, is_shown)
                return False
            how = active_options.format()
            if _show is None or stream is not None or how == "off":
                failure_report.report_to(out, failure, how, is_shown)
            else:
                text = io.StringIO()
                _show(text, *failure_report.report_to(text, failure, how, is_shown))
            return how != "off"
    except Exception as own:
        return _own_failure(own, out)


def _tell_what_is_known(exc: BaseException, out: TextIO) -> bool:
    if member.is_silent() or active_options.format() != "terminal":
        return False
    try:
        sentence = "\n".join(f"{type(each).__name__}: {each}" for each in links_of(exc))
    except Exception:  # it cannot be printed
        return False
    from devsan.render.known_error import write_known  # as above

    return write_known(sentence, out, libraries=sys.modules)


def _own_failure(own: Exception, out: TextIO) -> bool:
    try:
        reason = " ".join(str(own).split())
        print(f"devsan: the report could not be made: {type(own).__name__}: {reason}", file=out, flush=True)
    except Exception:
        return False
    return True
