"""The report on one failure, with all that it takes to make it: facts, diagnosis, text, the run file, the job.

Imported when there is a failure to report on, and not before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TextIO

from devsan.diagnosis.build import build
from devsan.diagnosis.cause import explained
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.introspect.explain import Explanation
from devsan.introspect.frames.chain import Failure
from devsan.job import member
from devsan.render import github
from devsan.render.terminal.printer import write
from devsan.run_files import recording


def report_to(
    stream: TextIO, failure: Failure, how: str = "terminal", is_shown: bool = False
) -> tuple[Diagnostic, Explanation | None]:
    """Prints the report on ``failure``, adds it to the run file where there is one, and returns what it was made of.

    Args:
        stream: where to print.
        failure: what happened.
        how: a value of the option ``format``.
        is_shown: whether the sentence of the error stands above; then it is not repeated.
    """
    report, explanation = explained(build(failure), failure, member.patience())
    if how != "off":
        write(replace(report, sentence="") if is_shown else report, stream)
        from devsan.doctor.live.beside import write_beside  # imported behind the report, which is there sooner so

        write_beside(explanation, stream)
    if how == "github":
        github.write(report, explanation, stream)
    _record(failure, report, explanation)
    return report, explanation


def tell_job(failure: Failure, is_shown: bool = False) -> None:
    """Leaves the report on ``failure`` to the job of this process, which is a rank.

    Args:
        failure: what happened.
        is_shown: whether this process has shown the sentence of the error.
    """
    if is_shown:
        member.note_shown(failure.sentence.text)
    report, explanation = explained(build(failure), failure, member.patience())
    member.add(report, explanation)
    _record(failure, report, explanation)


def _record(failure: Failure, report: Diagnostic, explanation: Explanation | None) -> None:
    """Once, however often an error is explained: by the program where it is caught, and where it ends the program."""
    if failure.is_new_to(__name__):
        recording.add_finding(report, explanation)
