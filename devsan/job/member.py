"""This process in its job: joined before its emulation starts, left when it ends. See NOTE [Who owns a job].

Nothing here raises: a job that cannot be joined costs its common report, told in one line, and nothing of the program.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from devsan.errors import tell
from devsan.experiments import EXPERIMENT
from devsan.forks import in_each_child
from devsan.job import folder, termination, watchdog
from devsan.job.exit_watcher import ExitWatcher, write_exits
from devsan.job.numbers import HELPS, mark, numbers_here
from devsan.run_files import recording, tally
from devsan.run_files.recording import command

if TYPE_CHECKING:
    from devsan.diagnostics.diagnostic import Diagnostic
    from devsan.introspect.explain import Explanation
    from devsan.job.record import Record
    from devsan.options import Options
    from devsan.profiles import DeviceSpec

PATIENCE = 20.0
"""Seconds that a silent rank may take to explain a failure: nobody waits for it at a terminal, and all ranks of a
machine may be at it at the same time."""

_OF_AN_EXPERIMENT = 60.0  # seconds, likewise

_folder = ""
_pid = 0  # of the process that joined: a fork inherits the rest
_owns = False
_options: Options | None = None
_record: Record | None = None
_watcher: ExitWatcher | None = None
_explaining = False


def join(options: Options) -> None:
    """Joins the job of the process that started this one, or begins one. A second call may only name an output.

    Args:
        options: what this process was asked for; ranks without a report leave no documents.
    """
    global _folder, _pid, _owns, _options
    if _pid == os.getpid():
        os.environ[folder.VARIABLE] = _folder  # devsan's main was called in its own process
        if options.output:  # a later cell of a notebook, a later emulation
            _options = options
        return
    try:
        path = os.environ.get(folder.VARIABLE, "")
        owns = not folder.has_living_owner(path)
        if owns:
            path = folder.make(command())
            os.environ[folder.VARIABLE] = path
        _folder, _pid, _owns, _options = path, os.getpid(), owns, options
        tally.join(path)
        in_each_child(_be_another)
        atexit.register(_leave)
        if owns and options.is_reported:
            _watch_exits()
        begin_rank()
    except Exception as error:
        _give_up(error)


def leave_behind() -> None:
    """A new launch begins here, also where a program under devsan starts devsan."""
    os.environ.pop(folder.VARIABLE, None)
    os.environ.pop(HELPS, None)


def run_file(options: Options) -> str:
    """Returns the pattern of this process's run file; "" without one.

    What a report in a file is made of lies in the job's folder, whose owner makes it.
    """
    return folder.run_file() if options.report_file else options.output


def record(options: Options, devices: Sequence[DeviceSpec]) -> None:
    """Begins to record this process in its run file. Never raises.

    Args:
        options: which name the output.
        devices: the emulated GPUs; none on real ones.
    """
    recording.begin(run_file(options), devices, leave_run_file,
                    None if options.report_file else _tell_run_file, options.force)  # fmt: skip


def _tell_run_file(path: str) -> None:
    from devsan.job import finalize

    finalize.tell_run_files([path])


def begin_rank() -> None:
    """Leaves the first document of a rank, as soon as it is known to be one. Others do nothing."""
    global _record
    if _record is not None or not _is_reported():
        return
    try:
        numbers = numbers_here()
        if numbers is None:
            return
        from devsan.job.record import Record  # for ranks alone

        _record = Record(_folder, numbers)
        _note_run_file(_record)
        _record.write()
        mark(numbers.rank)
        termination.write_stack_to(os.path.join(_folder, f"{os.getpid()}.stack"))
    except Exception as error:
        _give_up(error)


def is_silent() -> bool:
    """Returns whether the owner of the job speaks for this process, which is a rank then."""
    if not _is_reported():
        return False
    begin_rank()
    if _record is None:
        return False
    if _owns:
        return any(pid != os.getpid() for pid in folder.processes(_folder))
    return folder.has_living_owner(_folder)


@contextlib.contextmanager
def failing(error: BaseException, trace: TracebackType | None) -> Iterator[None]:
    """Around the report on an uncaught exception: what ended a rank is known to its job before anything slow begins,
    and a launcher that ends the ranks meanwhile waits for the report."""
    global _explaining
    if not is_silent():
        _ask_the_launcher(error)
        yield
        return
    ends = threading.current_thread() is threading.main_thread()  # an exception of another thread ends only that
    with termination.held():
        if ends:
            _update(lambda record: record.fail(error, trace))
        _explaining = True
        try:
            yield
        finally:
            _explaining = False
            if ends:
                _update(lambda record: _look_back(record, error))


def add(report: Diagnostic, explanation: Explanation | None) -> None:
    """Puts a finding into the document of this rank."""

    def put(record: Record) -> None:
        from devsan.run_files.document import findings_of

        record.document["findings"] += findings_of(report, explanation, 0.0)

    _update(put)


def note_shown(text: str) -> None:
    """Notes what this process has shown of an error, for the job's report not to repeat it."""
    if _is_in():
        folder.note_shown(_folder, text)


def leave_places(places: list[dict[str, Any]], kind: str = "places") -> None:
    """Puts the places at which this rank went on after mismatches into its document, in place of those that it had.

    Args:
        places: as devsan/job/places.py reads them.
        kind: "places" where the policy ``warn`` had it go on, "caught" where the program caught the error.
    """
    _update(lambda record: record.document.update({kind: places}))


def leave_run_file() -> None:
    """Puts the name of this rank's run file into its document, as soon as there is one: a rank that is killed has no
    occasion later."""
    _update(lambda record: None)


def patience() -> float | None:
    """Returns how many seconds a diagnosis may take; None for as long as a user waits for a report.

    A rank that speaks through its job has longer, and an experiment of ``devsan fix``, which needs it, has a minute.
    """
    if os.environ.get(EXPERIMENT):
        return _OF_AN_EXPERIMENT
    return PATIENCE if _explaining else None


def end_child() -> None:
    """The end of a child of multiprocessing: one that was forked runs no functions of atexit."""
    if _is_in() and not _owns:
        _leave()


def speak() -> None:
    """The owner says now what there is to say: a cell of a notebook has ended, and the process goes on."""
    global _watcher
    if not _owns or not _is_reported() or _options is None:
        return
    try:
        from devsan.job import finalize

        finalize.report_on(_folder, _watcher, _options, 1.0)
        finalize.forget_documents(_folder)
        _watch_exits()
    except Exception as error:
        tell(f"no report on the job: {type(error).__name__}: {error}")


def _is_in() -> bool:
    return _pid == os.getpid()


def _is_reported() -> bool:
    return _is_in() and _options is not None and _options.is_reported


def _update(change: Any) -> None:
    record = _record
    if record is None:
        return
    try:
        numbers = numbers_here()
        if numbers is not None:
            record.number(numbers)
        change(record)
        _note_run_file(record)
        record.write()
    except Exception as error:
        tell(f"this rank is missing from the job's report: {type(error).__name__}: {error}")


def _note_run_file(record: Record) -> None:
    recording = sys.modules.get("devsan.run_files.recording")
    record.document["run_file"] = recording.last_path() if recording is not None else ""


def _look_back(record: Record, error: BaseException | None) -> None:
    if record.document["facts"] is None:
        record.document["facts"] = _facts(error)
    record.tell_versions()


def _facts(error: BaseException | None) -> dict[str, Any]:
    from devsan.job.ranks.collect import collect  # with all that looks at a program

    if error is not None and termination.is_request_to_end(error):
        return collect(ended="terminated")
    return collect(error)


def _ask_the_launcher(error: BaseException) -> None:
    """An error by which a launcher says how its children ended: it was told, others can only look."""
    if not _is_reported():
        return
    with contextlib.suppress(Exception):
        codes: dict[int, int] = {}
        failures = getattr(error, "failures", None)  # ChildFailedError of torch.distributed.elastic
        if isinstance(failures, dict):
            codes = {int(failure.pid): int(failure.exitcode) for failure in failures.values()}
        pid, code = getattr(error, "error_pid", None), getattr(error, "exit_code", None)
        if isinstance(pid, int) and isinstance(code, int):  # ProcessExitedException of torch.multiprocessing
            codes[pid] = code
        if codes:
            write_exits(_folder, codes)


def _leave() -> None:
    """At the end of the process."""
    global _pid
    if not _is_in():
        return
    try:
        _end_rank()
        tally.end()
        if _owns and _options is not None:
            from devsan.job import finalize

            finalize.close(_folder, _watcher, _options)
    except Exception as error:
        tell(f"no report on the job: {type(error).__name__}: {error}")
    finally:
        if _owns:
            folder.remove(_folder)
        _pid = 0
        _stay_interrupted()


def _stay_interrupted() -> None:
    """Python ends by SIGINT after a Ctrl-C that nobody caught. It keeps that in a flag which the next code that is run
    from a text resets (run_eval_code_obj in CPython's pythonrun.c), and modules that are imported for a report do run
    such code. It is set again as it was set."""
    if isinstance(getattr(sys, "last_exc", None) or getattr(sys, "last_value", None), KeyboardInterrupt):
        with contextlib.suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")


def _end_rank() -> None:
    begin_rank()
    if _record is None:
        return

    def end(record: Record) -> None:
        asked = record.document["stack"] and record.document["facts"] is not None
        failed = record.document["failure"] is not None
        record.end("exception" if failed else "terminated" if asked else "finished")
        _look_back(record, None)

    _update(end)


def _watch_exits() -> None:
    global _watcher
    path, options = _folder, "" if _options is None else _options.to_variable()
    _watcher = ExitWatcher(path, lambda: watchdog.start(path, options))
    _watcher.start()


def _be_another() -> None:
    """A forked child is in the job of its parent, and no owner; which rank it is will show."""
    global _pid, _owns, _record, _watcher
    if _pid:
        _pid, _owns, _record, _watcher = os.getpid(), False, None, None


def _give_up(error: Exception) -> None:
    global _pid
    owned, _pid = _owns and _pid == os.getpid(), 0
    if owned:
        folder.remove(_folder)
        os.environ.pop(folder.VARIABLE, None)
    tell(f"no report on the job as a whole: {type(error).__name__}: {error}")
