"""What a command did not understand, said in the language that is asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from devsan.cli.help_text import asked_language
from devsan.diagnostics.messages import message
from devsan.errors import DevsanError, UsageError, tell
from devsan.render.language import language_for


def tell_refusal(error: DevsanError, words: Sequence[str] = ()) -> None:
    """Writes the one sentence of ``error`` to stderr: in Chinese where that is asked for and all of it has its Chinese.

    Args:
        error: what was raised while the words of a command were read.
        words: the command's: ``--lang`` may stand among them.
    """
    say = language_for(sys.stderr, asked_language(words))
    expected = say.text(error.expected) if isinstance(error, UsageError) else ""
    if not isinstance(error, UsageError) or expected == error.expected:
        tell(str(error))
        return
    got = message("nothing") if error.got == "nothing" else error.got
    if error.hint is None:
        tell(say.text(message("expected {expected}, got {got}", expected=expected, got=got)))
    else:
        tell(say.text(message("expected {expected}, got {got}; did you mean {hint}?",
                              expected=expected, got=got, hint=error.hint)))  # fmt: skip
