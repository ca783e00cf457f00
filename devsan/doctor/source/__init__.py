"""Placement, checked from the source: nothing is executed.

    result = check([Path("src")], launch)        findings, as the rest of the doctor has them
    print(diff(result))                          the mechanical fixes
    fix(result)                                  applied

The source is read with ``ast`` and followed with values that know devices only (NOTE [Paths] in interpreter.py).
Edits are made by libcst, which is imported where the first one is. docs/reference/doctor-rules.md lists the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devsan.cuda.visible_devices import VARIABLE
from devsan.diagnostics.diagnostic import Place
from devsan.doctor.source.check_result import CheckResult
from devsan.doctor.source.events import HidesGpus
from devsan.doctor.source.many import check_files
from devsan.doctor.source.program import follow_program
from devsan.doctor.source.source_edits import apply, diff_of
from devsan.doctor.source.source_file import Unreadable, read_source
from devsan.doctor.source.visible import UNSET, Launched, Visible

__all__ = ["CheckResult", "check", "diff", "fix", "visible_of"]


def check(paths: Sequence[Path], launch: Any = None, edits: bool = True) -> CheckResult:
    """Checks Python files, and those below folders.

    Args:
        paths: files and folders.
        launch: what is known of the launch (devsan.doctor.launch.LaunchFacts): its ``ranks`` and
            ``visible``.
        edits: also make the mechanical fixes; without, libcst is not imported.
    """
    return check_files(paths, _launched(launch), edits)


def visible_of(path: Path, launch: Any = None) -> tuple[Visible, Place] | None:
    """Returns CUDA_VISIBLE_DEVICES as a program sets it for itself, and where; None where it does not."""
    try:
        source = read_source(path)
    except Unreadable:
        return None
    if VARIABLE not in source.text:
        return None
    program = follow_program(source, _launched(launch), alone=True)
    places = [source.place(event.node) for event in program.events if isinstance(event, HidesGpus)]
    return None if program.visible is None else (program.visible, places[-1])


def _launched(launch: Any) -> Launched:
    # Without a command the environment is the doctor's, and need not be the job's.
    text = getattr(launch, "visible", None) if getattr(launch, "command", None) else None
    return Launched(int(getattr(launch, "ranks", 0) or 0), UNSET if text is None else Visible(text, True))


def diff(result: CheckResult, unsafe: bool = True) -> str:
    """Returns the fixes of a result as a unified diff.

    Args:
        result: of files that still are as they were checked.
        unsafe: also those that ``fix`` does not apply unasked.
    """
    return diff_of(result.findings, unsafe)


def fix(result: CheckResult, unsafe: bool = False) -> list[Path]:
    """Applies the safe fixes of a result, and returns the files that it wrote.

    A file that has changed since, or that would no longer parse, is left as it is and named in ``result.notes``.

    Raises:
        OSError: a file cannot be written.
    """
    return apply(result, unsafe)
