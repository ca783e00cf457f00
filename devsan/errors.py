"""What DevSan says when it cannot do what was asked: one sentence, expected then got."""

from __future__ import annotations

import os
import sys
import textwrap

EXIT_USAGE = 2
"""Exit code of a command that could not do what was asked, as that of argparse: its one sentence is on stderr."""


class DevsanError(Exception):
    """Base of DevSan's own errors. The message is one sentence that can be shown to the user as it is."""


class StartError(DevsanError):
    """DevSan cannot start here: the core is missing, or the installed torch is not one that it knows."""


class UsageError(DevsanError):
    """An option, a profile, a size or a command was not understood.

    Args:
        expected: what would have been right, as it reads after "expected"; a message where it has its Chinese.
        got: what was given, as it reads after "got".
        hint: the nearest right spelling, if there is one.
    """

    def __init__(self, expected: str, got: str, hint: str | None = None) -> None:
        self.expected, self.got, self.hint = expected, got, hint
        sentence = f"expected {expected}, got {got}"
        super().__init__(sentence if hint is None else f"{sentence}; did you mean {hint}?")


def one_line(error: BaseException) -> str:
    """Returns ``error`` as one sentence: a DevsanError as it is, anything else with its type."""
    text = " ".join(str(error).split())
    if isinstance(error, DevsanError):
        return text
    name = type(error).__name__
    return f"DevSan cannot start: {name}: {text}" if text else f"DevSan cannot start: {name}"


def tell_failure(what: str, error: BaseException) -> None:
    """Tells in one line that DevSan itself has failed at something, and of what: the program goes on without it."""
    tell(f"{what}: {type(error).__name__}: {' '.join(str(error).split())}")


def tell(sentence: str) -> None:
    """Writes one of DevSan's own sentences to stderr. stdout belongs to the program that is being run.

    On a terminal it is broken between words, and what follows is indented.
    """
    if sys.stderr is None:  # a program without a console has none
        return
    text = f"devsan: {sentence}"
    columns = _columns()
    if len(text) > columns > 0:
        text = "\n".join(
            textwrap.fill(line, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
            for line in text.split("\n")
        )
    print(text, file=sys.stderr, flush=True)


def _columns() -> int:
    """Those of the terminal behind stderr; 0 where there is none."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else 0
    except (OSError, ValueError, AttributeError):  # AttributeError: what a program put in place of stderr
        return 0
