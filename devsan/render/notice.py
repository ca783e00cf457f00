"""DevSan's own sentences on stderr, in the language that was chosen."""

from __future__ import annotations

import sys

from devsan.diagnostics.messages import Message
from devsan.render.language import language_for
from devsan.render.terminal.stream import terminal_columns
from devsan.render.terminal.text import broken


def notice(sentence: Message) -> None:
    """Writes ``sentence`` as a line of its own; on a terminal it is broken between words, or between characters of
    Chinese. What fails in DevSan itself is told in English, by ``errors.tell``."""
    if sys.stderr is None:
        return
    text = f"devsan: {language_for(sys.stderr).text(sentence)}"
    columns = terminal_columns(sys.stderr)
    print("\n".join(broken(text, columns)) if columns else text, file=sys.stderr, flush=True)
