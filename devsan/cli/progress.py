"""What is being tried, on stderr: one line that is written anew on a terminal, a line each elsewhere.

By hand: to import rich takes longer than many an experiment.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

from devsan.render.language import language_for
from devsan.render.terminal.stream import is_terminal, terminal_columns
from devsan.render.terminal.text import WIDTH
from devsan.render.terminal.truncate import beginning

RUNS = {
    "reference": "running the program as on one device, to compare with",
    "failure": "running the program as it is",
    "alone": "running the program with all tensors on one GPU, to compare with",
}
"""Of the program as it is, and what is said of each."""


class Line:
    """A line of DevSan's own.

    Attributes:
        say: its language.
        is_terminal: whether it is written anew.

    Args:
        stream: where; stderr by default.
        language: "en" or "zh"; by default the chosen one.
    """

    def __init__(self, stream: TextIO | None = None, language: str = "") -> None:
        self._stream: TextIO = sys.stderr if stream is None else stream
        self.say = language_for(self._stream, language)
        self.is_terminal = is_terminal(self._stream) and os.environ.get("TERM") != "dumb"
        self._shown = False

    def show(self, text: str) -> None:
        """Writes ``text``, cut to the width of a terminal."""
        if self.is_terminal:
            self._write("\r\x1b[K" + beginning(f"devsan: {text}", (terminal_columns(self._stream) or WIDTH) - 1))
            self._shown = True
        else:
            self._write(f"devsan: {text}\n")

    def keep(self, text: str) -> None:
        """Writes ``text`` as a line that stays, in place of what is shown."""
        self.close()
        self._write(f"devsan: {text}\n")

    def close(self) -> None:
        """Takes the line away."""
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._stream.flush()


class Progress:
    """Shows how far a search is.

    Args:
        stream: where; stderr by default.
        language: "en" or "zh"; by default the chosen one.
    """

    def __init__(self, stream: TextIO | None = None, language: str = "") -> None:
        self._line = Line(stream, language)
        self._start = time.monotonic()
        self._number = 0

    def __call__(self, what: str) -> None:
        """Shows what is tried now.

        Args:
            what: one of ``RUNS``, else what a change does. How many changes there will be, nobody knows.
        """
        say = self._line.say
        if what in RUNS:
            text = say(RUNS[what])
        else:
            self._number += 1
            text = say("experiment {number}: {what}", number=str(self._number), what=say.text(what))
        seconds = f" ({time.monotonic() - self._start:.0f} s)" if self._line.is_terminal else ""
        self._line.show(text + seconds)

    def close(self) -> None:
        """Takes the line away."""
        self._line.close()
