"""``devsan env``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from devsan.cli.command import Action, Parser, add_language
from devsan.core_library import release
from devsan.doctor.environment_report import rows_of
from devsan.doctor.facts import gather
from devsan.doctor.launch import LaunchFacts
from devsan.doctor.masking import Mask
from devsan.render.language import language_for
from devsan.render.terminal.text import display_width, wrapped


class EnvCommand:
    """Print the versions and the machine, for a bug report.

    Paths, user and host names, addresses and tokens are masked. The text can be pasted as it is.
    """

    name = "env"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the language."""
        parser = Parser(self, usage="devsan env [--lang LANG]")
        add_language(parser)
        asked = parser.read(words)
        return lambda: _show(asked.lang)


def _show(language: str) -> int:
    say = language_for(sys.stdout, language)
    facts = gather(os.environ)
    mask = Mask(facts.system)
    rows = [("devsan", release()), *rows_of(facts, LaunchFacts(), say)]
    width = max(display_width(name) for name, _ in rows) + 2
    lines = []
    for name, text in rows:
        head = name + " " * (width - display_width(name))
        for piece in wrapped(mask.text(text), width):
            lines.append(head + piece)
            head = " " * width
    print("\n".join(("```text", *lines, "```")))
    return 0
