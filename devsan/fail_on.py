"""Which findings make DevSan fail, and by which exit code: of ``devsan run``, ``report``, ``doctor`` and of pytest."""

from __future__ import annotations

from collections.abc import Iterable

LEVELS = ("error", "warning", "never")

EXIT_FINDINGS = 1
"""Where findings count, and nothing else has made a program fail."""

_COUNTED = {"error": ("error",), "warning": ("error", "warning"), "never": ()}


def exit_code(
    severities: Iterable[str], level: str | None, error_exitcode: int | None, default: str = "never", own: int = 0
) -> int:
    """Returns the exit code.

    Args:
        severities: of the findings.
        level: the option ``fail-on``; "" or None where it was not given.
        error_exitcode: the option ``error-exitcode``; alone it means errors, as with Valgrind.
        default: what ``fail-on`` is where neither is given.
        own: the exit code without findings. A program that failed keeps its own, unless ``error_exitcode`` is given.
    """
    level = level or (LEVELS[0] if error_exitcode is not None and default == "never" else default)
    if not any(severity in _COUNTED[level] for severity in severities):
        return own
    return (own or EXIT_FINDINGS) if error_exitcode is None else error_exitcode
