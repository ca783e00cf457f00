"""``--help`` in the language that a command speaks: the one of ``--lang`` where that is given.

Sentences are translated as they are written at the options: by their English, from devsan/cli/chinese.json. So are
argparse's own words, for which gettext would want a domain of the whole process, which is the user's program.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable, Sequence
from copy import copy
from functools import partial
from typing import Any

from devsan.errors import DevsanError
from devsan.project_options import language
from devsan.render.language import Language, language_for
from devsan.render.terminal.text import broken, wrapped

PARAGRAPH = "\n\n"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """argparse's, in one language.

    Args:
        say: the language.
        prog: as argparse gives it.
    """

    def __init__(self, say: Language, prog: str) -> None:
        super().__init__(prog)
        self._said = say.text

    def add_usage(
        self, usage: str | None, actions: Iterable[argparse.Action], groups: Iterable[Any], prefix: str | None = None
    ) -> None:
        """Adds the usage, which a terminal shows behind seven columns in every language."""
        super().add_usage(usage, actions, groups, self._said("usage: ") if prefix is None else prefix)

    def start_section(self, heading: str | None) -> None:
        """Begins a group of options."""
        super().start_section(heading and self._said(heading))

    def add_text(self, text: str | None) -> None:
        """Adds a description: its paragraphs are translated, and those that are examples may stay as they are."""
        super().add_text(text and PARAGRAPH.join(map(self._said, text.split(PARAGRAPH))))

    def add_argument(self, action: argparse.Action) -> None:
        """Adds an option."""
        shown = copy(action)
        shown.help = action.help and self._said(action.help)
        super().add_argument(shown)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return PARAGRAPH.join("\n".join(filled(each, width)) for each in text.split(PARAGRAPH))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, 0, width=width)  # argparse counts characters, not columns


def filled(text: str, width: int) -> list[str]:
    """Returns a paragraph in lines of ``width`` columns; lines of it that are indented are examples, and stay apart."""
    pieces: list[str] = []
    for line in text.split("\n"):
        if pieces and not line.startswith(" ") and not pieces[-1].startswith(" "):
            pieces[-1] += (" " if pieces[-1].isascii() else "") + line
        else:
            pieces.append(line)
    return [line for piece in pieces for line in broken(piece, width, 2 if piece.startswith(" ") else 0)]


class ShowHelp(argparse.Action):
    """What ``--help`` does."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        """Prints the help and leaves."""
        asked = getattr(namespace, "lang", None) or asked_language(getattr(parser, "words", ()))
        parser.formatter_class = partial(HelpFormatter, spoken(asked))
        parser.print_help()
        parser.exit()


def spoken(name: str | None = None) -> Language:
    """Returns the language of a help: ``name`` where it is given, else the one in force."""
    if not name:
        with contextlib.suppress(DevsanError):  # of a file that the help has nothing to do with
            name = language()
    return language_for(sys.stdout, name or "")


def asked_language(words: Sequence[str]) -> str:
    """Returns the language that the options in front of a program ask for; "" where they ask for none."""
    for number, word in enumerate(words):
        if word == "--" or word.endswith(".py"):
            break
        name, equals, value = word.partition("=")
        if name == "--lang":
            asked = value if equals else "".join(words[number + 1 : number + 2])
            return asked if asked in ("en", "zh") else ""
    return ""
