"""What is being tried, on stderr: one line that is written anew on a terminal, a line each elsewhere.

By hand: to import rich takes longer than many an experiment.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

from devsan.render.language import language_for
from devsan.render.terminal.text import display_width

_RUNS = {
    "reference": "running the program as on one device, to compare with",
    "failure": "running the program as it is",
    "alone": "running the program with all tensors on one GPU, to compare with",
}


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
        self.is_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = False

    def show(self, text: str) -> None:
        """Writes ``text``, cut to the width of a terminal."""
        if self.is_terminal:
            self._write("\r\x1b[K" + _cut(f"devsan: {text}", _columns(self._stream) - 1))
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

    def __call__(self, what: str, number: int, count: int) -> None:
        """Shows what is tried now.

        Args:
            what: "reference", "failure" or "alone" for the runs of the program as it is, else what a change does.
            number: of the change, from 1.
            count: how many there are.
        """
        say = self._line.say
        if count:
            text = say("trying {number} of {count}: {what}", number=str(number), count=str(count),
                       what=say.text(what))  # fmt: skip
        else:
            text = say(_RUNS[what])
        seconds = f" ({time.monotonic() - self._start:.0f} s)" if self._line.is_terminal else ""
        self._line.show(text + seconds)

    def close(self) -> None:
        """Takes the line away."""
        self._line.close()


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _cut(text: str, room: int) -> str:
    """``text`` in ``room`` columns, as a terminal that breaks the line could not write it anew."""
    if display_width(text) <= room:
        return text
    while text and display_width(text) > room - 3:
        text = text[:-1]
    return f"{text}..."
