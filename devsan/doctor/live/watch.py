"""The first step of each optimizer, looked at: faults that stop nothing show there, and nowhere else.

A fault that stops the program gets its report when it does. Some never stop it: an optimizer whose tensors are not the
model's, a parameter that a module has only a copy of, and tied weights that have become two. Before its first step all
that can be known of them is there: model and optimizer have their final form, and the gradients say which parameters
the loss has reached. One look costs as much as a report does; every later step costs a look into a dictionary.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

from devsan.errors import tell
from devsan.optimizer_steps import watch_steps

_SECONDS = 1.0
_MOST = 64  # models of the process that are looked at

_undo: Callable[[], None] | None = None
_seen: dict[int, weakref.ref[Any]] = {}  # by their ids: a WeakSet is asked ten times slower
_said: set[tuple[str, str]] = set()


def begin() -> None:
    """Has first steps looked at, if torch is loaded. A second call does nothing."""
    global _undo
    if _undo is None:
        _undo = watch_steps(before=_before_step)


def end() -> None:
    """Takes back what ``begin`` did."""
    global _undo
    if _undo is not None:
        _undo()
        _undo = None


def _before_step(optimizer: Any) -> None:
    """Whatever fails here changes nothing of the program."""
    number = id(optimizer)
    if number in _seen:
        return
    _seen[number] = weakref.ref(optimizer, lambda _: _seen.pop(number, None))
    try:
        _look(optimizer)
    except Exception as error:
        tell(f"an optimizer's first step could not be checked: {type(error).__name__}: {' '.join(str(error).split())}")


def _look(optimizer: Any) -> None:
    """All live models are looked at, by the garbage collector: what the program's frames hold is better not asked
    (NOTE [Variables of running frames] in ``lines``). So only what gradients prove is said of models that ``optimizer``
    does not step: an earlier experiment may have left some."""
    from dataclasses import replace

    from devsan import active_options

    options = active_options.current()
    if options is None or not options.is_reported:
        return
    from devsan.diagnosis.gc_pause import Paused
    from devsan.doctor.live.check import check
    from devsan.doctor.live.lines import Lines
    from devsan.doctor.live.rules.copied_parameter import check as copied_parameter
    from devsan.doctor.live.rules.stale_parameters import check as stale_parameters
    from devsan.doctor.live.rules.tied_weights import check as tied_weights
    from devsan.doctor.live.subject import subject_of
    from devsan.introspect.deadline import Late, within
    from devsan.introspect.frames.tensors import plain_attributes
    from devsan.introspect.models.heap import instances_of, live_modules
    from devsan.introspect.models.referrers import parameters_of

    def found() -> list[Any]:
        everything = subject_of([optimizer, *live_modules(_MOST)], Lines(caller=sys._getframe(2)))
        everything.elsewhere = instances_of(sys.modules["torch.optim"].Optimizer)
        everything.stepping = optimizer
        own = {id(each) for each in parameters_of(optimizer)}
        stepped = [each for each in everything.models if any(id(held.tensor) in own for held in each.tensors)]
        told = check(everything, (stale_parameters,), lambda rule, error: None)
        return told + check(
            replace(everything, models=stepped), (tied_weights, copied_parameter), lambda rule, error: None
        )

    try:
        with Paused(), plain_attributes():
            told = within(_SECONDS, found)
    except Late:
        return
    fresh = [each for each in told if _is_new(each)]
    if fresh:
        _tell(fresh)


def _tell(found: list[Any]) -> None:
    """Of a rank the job reports; what is known of a run is in its file as well."""
    from devsan.doctor.as_report import report_of
    from devsan.doctor.live.beside import write
    from devsan.job import member
    from devsan.run_files import recording

    reports = [report_of(each) for each in found]
    if member.is_silent():
        for report in reports:
            member.add(report, None)
    elif sys.stderr is not None:
        write(found, sys.stderr)
    for report in reports:
        recording.add_finding(report, None)


def _is_new(finding: Any) -> bool:
    """Whether it is sure, and was not said before: a program steps more than one optimizer."""
    sure = finding.confidence == "certain" or (finding.code == "DV430" and finding.severity == "warning")
    key = (finding.code, finding.title)
    if not sure or key in _said:
        return False
    _said.add(key)
    return True
