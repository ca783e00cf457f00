"""The emulation that lasts as long as the process: from ``devsan run``, ``DEVSAN_OPTIONS`` or ``pytest --devsan-gpus``.

There is at most one. Whoever asks first decides, because importing torch asks again: ``Emulation`` imports torch,
torch calls ``devsan.autoload.load`` at the end of its import, and that finds ``DEVSAN_OPTIONS`` set for the children.
"""

from __future__ import annotations

import os
import sys

from devsan import excepthook
from devsan.active_options import become, current
from devsan.doctor.live import watch as first_steps
from devsan.emulation import Emulation
from devsan.errors import DevsanError, StartError, one_line
from devsan.job import member
from devsan.numbers import observer
from devsan.options import VARIABLE, Options, read_variable
from devsan.run_files import recording

_emulation: Emulation | None = None
_variable_before: str | None = None


def begin_by_variable(text: str) -> None:
    """Begins what ``DEVSAN_OPTIONS`` asks for, when torch is imported. See `begin_in_job`."""
    if current() is not None:
        watch()  # devsan run is starting it: this is its import of torch
    else:
        begin_in_job(read_variable(text))


def begin_in_job(options: Options) -> None:
    """Begins as `begin` does, as a process of its job, with reports on what nobody catches where they are wanted."""
    member.join(options)
    begin(options)
    if options.is_reported or options.output:
        excepthook.install()


def begin(options: Options) -> None:
    """Starts emulating ``options`` until ``end`` or the end of the process; children find them in the environment.

    Imports torch, except for real GPUs, which are left as they are. Does nothing when the same GPUs are emulated
    already; other GPUs replace those.

    Raises:
        UsageError: the options contradict each other.
        StartError: this installation cannot emulate; what was there before is as it was.
    """
    global _emulation, _variable_before
    devices = options.devices()
    running = current()
    if running is not None:
        if _is_starting() or running.devices() == devices:
            return
        end()
    become(options)  # before the start, so that a start within the start sees it
    _variable_before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = options.to_variable()
    emulation = None
    try:
        if devices:
            emulation = Emulation(options)
            emulation.start()
    except BaseException as error:
        _restore()
        if isinstance(error, DevsanError) or not isinstance(error, Exception):
            raise
        raise StartError(one_line(error)) from error
    _emulation = emulation
    watch()
    if devices:
        observer.begin()
    if options.output:
        member.record(options, devices)


def watch() -> None:
    """Has the first step of each optimizer checked (devsan/doctor/live/watch.py), once torch is there and a session is.

    What torch has not got yet is done when it calls ``devsan.autoload.load``.
    """
    if current() is None or "torch.optim" not in sys.modules:
        return
    first_steps.begin()


def end() -> None:
    """Stops what ``begin`` started. Does nothing when nothing runs."""
    global _emulation
    running = current()
    if running is None or _is_starting():
        return
    emulation, _emulation = _emulation, None
    first_steps.end()
    if running.output:
        recording.pause()
    _restore()
    if emulation is not None:
        emulation.stop()


def outer_variable() -> str:
    """Returns ``DEVSAN_OPTIONS`` as it is without the emulation that runs, which sets it for children."""
    return (_variable_before if current() is not None else os.environ.get(VARIABLE)) or ""


def _is_starting() -> bool:
    running = current()
    return _emulation is None and running is not None and bool(running.devices())


def _restore() -> None:
    become(None)
    if _variable_before is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = _variable_before
