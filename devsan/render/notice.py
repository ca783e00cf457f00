"""DevSan's own sentences on stderr, in the language that was chosen."""

from __future__ import annotations

import sys

from devsan.diagnostics.messages import Message
from devsan.errors import tell
from devsan.render.language import language_for


def notice(sentence: Message) -> None:
    """Writes ``sentence`` as a line of its own. What fails in DevSan itself is told in English, by ``tell``."""
    if sys.stderr is not None:
        tell(language_for(sys.stderr).text(sentence))
