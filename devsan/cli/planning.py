"""How a command that plans ends: what both kinds of plan, of a program and of a launch, do around their rehearsals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from devsan.cli.interruptible import EXIT_INTERRUPTED, interruptible
from devsan.cli.progress import Line
from devsan.cli.refusal import tell_refusal
from devsan.core_library import core_with_torch
from devsan.diagnostics.messages import message
from devsan.errors import EXIT_USAGE, DevsanError
from devsan.render.notice import notice

EXIT_FITS, EXIT_NOTHING_FITS = 0, 1

Found = TypeVar("Found")


def planned(language: str, rehearse: Callable[[Callable[[str], None]], Found], told: Callable[[Found], int]) -> int:
    """Rehearses with a line of progress, and returns the exit code.

    Args:
        language: of the line: "en" or "zh"; "" for the chosen one.
        rehearse: makes the plan; it is given what shows what is done next.
        told: shows the plan, and returns the exit code.
    """
    core_with_torch()
    line = Line(language=language)
    try:
        with interruptible():
            found = rehearse(lambda text: line.show(line.say.text(text)))
    except KeyboardInterrupt:
        line.close()
        notice(message("interrupted"))
        return EXIT_INTERRUPTED
    except DevsanError as error:
        line.close()
        tell_refusal(error)
        return EXIT_USAGE
    line.close()
    return told(found)
