"""How far a plan is, on stderr: a line for each rehearsal that has ended, and on a terminal what is rehearsed now."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TextIO, TypeVar

from devsan.cli.progress import Line
from devsan.render.language import Language

Row = TypeVar("Row")


class PlanProgress(Generic[Row]):
    """Shows each row as soon as it is known.

    Args:
        described: says a row, in a language.
        stream: where; stderr by default.
        language: "en" or "zh"; by default the chosen one.
    """

    def __init__(
        self, described: Callable[[Row, Language], str], stream: TextIO | None = None, language: str = ""
    ) -> None:
        self._described = described
        self._line = Line(stream, language)
        self._start = time.monotonic()
        self._number = 0
        self._count = 0
        self._is_most = False

    def begins(self, what: str, count: int = 0, is_most: bool = False) -> None:
        """Shows on a terminal what is rehearsed now; a log has a line when it has ended."""
        self._number += 1
        self._count, self._is_most = count, is_most
        if self._line.is_terminal:
            self._line.show(self._with_place(self._line.say.text(what)))

    def ended(self, row: Row) -> None:
        """Writes what the rehearsal came to, as a line that stays."""
        self._line.keep(self._with_place(self._described(row, self._line.say)))

    def tells(self, sentence: str) -> None:
        """Writes a sentence, as a line that stays."""
        self._line.keep(self._line.say.text(sentence))

    def close(self) -> None:
        """Takes away what is rehearsed now."""
        self._line.close()

    def _with_place(self, text: str) -> str:
        say, number, count = self._line.say, str(self._number), str(self._count)
        if not self._count or self._number > self._count:
            place = say("rehearsal {number}", number=number)
        elif self._is_most:
            place = say("rehearsal {number} of at most {count}", number=number, count=count)
        else:
            place = say("rehearsal {number} of at least {count}", number=number, count=count)
        seconds = int(time.monotonic() - self._start)
        return say("{text} ({place}, {time})", text=text, place=place, time=f"{seconds // 60}:{seconds % 60:02}")
