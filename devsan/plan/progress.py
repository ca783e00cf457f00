"""How far a plan is: who shows it is told of each rehearsal when it begins, and of its row when that is known."""

from __future__ import annotations

from typing import Protocol, TypeVar

Row = TypeVar("Row", contravariant=True)


class Progress(Protocol[Row]):
    """Is told what a plan does. ``Row`` is what a rehearsal comes to."""

    def begins(self, what: str, count: int = 0, is_most: bool = False) -> None:
        """A rehearsal begins.

        Args:
            what: is done.
            count: how many rehearsals there are in all, at least; 0 where that is not known.
            is_most: whether there are so many at most.
        """

    def ended(self, row: Row) -> None:
        """A rehearsal has come to ``row``."""

    def tells(self, sentence: str) -> None:
        """Something is to be said beside the rows."""
