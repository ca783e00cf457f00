"""``devsan run -- command``: the command as a child, and behind its end the report on the job.

What a shell would see of the command it sees of this process: the same exit code, or the end by the same signal. The
terminal's own signals (Ctrl-C, Ctrl-\\) reach the command from the terminal, as they reach everything in front; what
somebody sends to this process is passed on. If this process is killed the command is told to end (SIGTERM), and the
watchdog reports.

The command inherits what this process inherited: a signal that whoever started devsan ignores (nohup, a shell's ``&``)
is ignored by the command too, unless it decides otherwise.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence

from devsan.errors import EXIT_USAGE, tell
from devsan.experiments import EXPERIMENT
from devsan.job import folder, member, watchdog
from devsan.job.exit_watcher import ExitWatcher
from devsan.options import Options
from devsan.run_files.recording import command

_PR_SET_PDEATHSIG = 1  # prctl(2)
_SI_KERNEL = 0x80  # sigaction(2): the terminal sent it
_FROM_THE_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)  # subprocess gives them back to its children as well
_PASSED_ON = (*_FROM_THE_TERMINAL, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def run(words: Sequence[str], options: Options) -> int:
    """Runs a command and returns its exit code; if a signal ends the command, the same ends this process.

    Args:
        words: the command and its arguments.
        options: how to report on the job.
    """
    member.leave_behind()
    path = _make_folder()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    unwaited = signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
    if unwaited:  # inherited: the kernel would throw the command's status away (wait(2)), and nobody would be told
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        pid = _start(words, before, unwaited)
        watcher = None
        if path and options.is_reported:
            watcher = ExitWatcher(path, lambda: watchdog.start(path, options.to_variable()))
            watcher.start()
        status = _wait(pid)
        with contextlib.suppress(Exception):
            is_counted = (
                options.fail_on or options.error_exitcode is not None or options.ranks or EXPERIMENT in os.environ
            )
            if watcher is not None or is_counted:
                _report(path, watcher, options)
    finally:
        if path:
            folder.remove(path)
        # What came meanwhile was for the command, which has ended: it must not end this process behind it.
        while signal.sigtimedwait({*_PASSED_ON, signal.SIGCHLD}, 0) is not None:
            pass
        if unwaited:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        _end_by(-code)
    return code


def _make_folder() -> str:
    try:
        path = folder.make(command())
    except OSError as error:
        tell(f"no report on the job as a whole: {error}")
        return ""
    os.environ[folder.VARIABLE] = path
    return path


def _start(words: Sequence[str], mask: set[int | signal.Signals], unwaited: bool) -> int:
    """Starts the command; what keeps it from starting is told by the child, which then ends with 2.

    Args:
        words: the command and its arguments.
        mask: the signals that the command finds blocked.
        unwaited: the command finds SIGCHLD ignored.
    """
    end_with_parent = _pdeathsig()
    parent = os.getpid()
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        end_with_parent()
        for number in _IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_DFL)
        if unwaited:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if os.getppid() == parent:
            os.execvpe(words[0], list(words), os.environ)
    except OSError as error:
        tell(f"expected a command that can be started, got {words[0]!r}: {error.strerror}")
    finally:
        os._exit(EXIT_USAGE)


def _wait(pid: int) -> int:
    """Passes signals on until the command ends; returns its wait status."""
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if ended and not os.WIFSTOPPED(status):
            return status
        if ended:  # Ctrl-Z stops both; whoever stops the command alone waits for this process
            os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(pid, signal.SIGCONT)
        came = signal.sigwaitinfo({*_PASSED_ON, signal.SIGCHLD})
        if came.si_signo == signal.SIGCHLD:
            continue
        if came.si_signo in _FROM_THE_TERMINAL and came.si_code == _SI_KERNEL:
            continue
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, came.si_signo)


def _report(path: str, watcher: ExitWatcher | None, options: Options) -> None:
    try:
        from devsan.job import finalize  # here, so that the command is not started later for it

        finalize.close(path, watcher, options)
    except Exception as error:
        tell(f"no report on the job: {type(error).__name__}: {error}")


def _end_by(number: int) -> None:
    """Ends this process by the signal that ended the command, without another core dump."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _pdeathsig() -> Callable[[], object]:
    """What a child calls to be told to end when its parent does."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):  # another C library
        return lambda: None
    return lambda: prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
