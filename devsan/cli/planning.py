"""How a command that plans ends: what both kinds of plan, of a program and of a launch, do around their rehearsals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from devsan.cli.interruptible import EXIT_INTERRUPTED, interruptible
from devsan.cli.plan_progress import PlanProgress
from devsan.cli.refusal import tell_refusal
from devsan.core_library import core_with_torch
from devsan.diagnostics.messages import message
from devsan.errors import EXIT_USAGE, DevsanError
from devsan.render.language import Language
from devsan.render.notice import notice

EXIT_FITS, EXIT_NOTHING_FITS = 0, 1

Row = TypeVar("Row")


class Interruptible(Protocol):
    """What came of planning.

    Attributes:
        is_partial: whether it was interrupted.
    """

    @property
    def is_partial(self) -> bool: ...  # noqa: D102


class Plan(Interruptible, Protocol):
    """A plan.

    Attributes:
        fits: whether anything fits, of what was rehearsed.
    """

    @property
    def fits(self) -> bool: ...  # noqa: D102


Found = TypeVar("Found", bound=Interruptible)


def planned(
    language: str, described: Callable[[Row, Language], str], rehearse: Callable[[PlanProgress[Row]], Found],
    told: Callable[[Found], int],
) -> int:  # fmt: skip
    """Rehearses with progress on stderr, and returns the exit code.

    A plan that was interrupted is shown, too, where anything is known: what is told says that it is partial.

    Args:
        language: of the progress: "en" or "zh"; "" for the chosen one.
        described: says what a rehearsal came to.
        rehearse: makes the plan; it is given what shows how far it is.
        told: shows the plan, and returns the exit code.
    """
    core_with_torch()
    progress = PlanProgress(described, language=language)
    try:
        with interruptible():
            found = rehearse(progress)
    except KeyboardInterrupt:
        progress.close()
        notice(message("interrupted"))
        return EXIT_INTERRUPTED
    except DevsanError as error:
        progress.close()
        tell_refusal(error)
        return EXIT_USAGE
    progress.close()
    code = told(found)
    return EXIT_INTERRUPTED if found.is_partial else code


def verdict(plan: Plan) -> bool | None:
    """Returns whether it fits, for JSON; None where the plan was interrupted before anything did."""
    return plan.fits or (None if plan.is_partial else False)
