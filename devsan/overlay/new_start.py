"""A script whose text is in the overlay starts anew, because Python itself opens the file (NOTE [The overlay])."""

from __future__ import annotations

import os
import sys

from devsan import overlay

_PROGRAM = "devsan.cli.changed_program"


def start_anew() -> None:
    """Replaces this process by one that runs its script from the overlay. Returns where the script is not in there."""
    words = sys.orig_argv[1:]
    script = _script_in(words)
    if script is None or overlay.text_of(os.path.abspath(words[script])) is None:
        return
    os.execv(sys.executable, [sys.executable, *words[:script], "-m", _PROGRAM, *words[script:]])


def _script_in(words: list[str]) -> int | None:
    """Where the script stands behind ``python``; None for ``-m``, ``-c`` and standard input."""
    number = 0
    while number < len(words):
        word = words[number]
        if not word.startswith("-"):
            return number
        if word.startswith(("-c", "-m")) or word == "-":
            return None
        number += 2 if word in ("-W", "-X", "--check-hash-based-pycs") else 1
    return None
