"""What a command is: a small class whose docstring is its help."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NoReturn, Protocol

from devsan.errors import UsageError
from devsan.spelling import nearest

Action = Callable[[], int]


class Command(Protocol):
    """A command of ``devsan``. The first line of its docstring is its summary in devsan/cli/main.py."""

    name: str

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the words after the command's name and returns what is to be done, which returns the exit code.

        Raises:
            DevsanError: the words are not understood or DevSan cannot do it; ``main`` says so and returns 2.
        """


def _read(kind: Callable[[str], object], choices: Iterable[object] | None, text: str) -> object:
    value = kind(text)
    if choices is not None and value not in choices:
        raise ValueError(text)
    return value


def add_format(parser: argparse._ActionsContainer, *formats: str) -> None:
    """Adds ``--format``; the first of ``formats`` is the default."""

    def known(text: str) -> str:
        if text not in formats:
            near = nearest(text, formats)
            raise UsageError(f"a format ({', '.join(formats)})", repr(text), near and f"--format {near}")
        return text

    listed = f"{', '.join(formats[:-1])} or {formats[-1]} (default: {formats[0]})"
    parser.add_argument("--format", metavar="FORMAT", type=known, choices=formats, default=formats[0], help=listed)


def _kind(action: argparse.Action) -> Callable[[str], object]:
    return action.type if callable(action.type) else str


class Parser(argparse.ArgumentParser):
    """argparse with DevSan's manners: its errors are UsageErrors, and nothing may be abbreviated."""

    def __init__(self, command: Command, usage: str, epilog: str = "") -> None:
        super().__init__(
            prog=f"devsan {command.name}",
            usage=usage,
            description=inspect.getdoc(command),
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Reads the words; options may stand before, between and behind the others."""
        return self.parse_intermixed_args(list(words))

    def readers(self) -> dict[str, Callable[[str], object] | None]:
        """Returns, by spelling, what reads an option's value; None for an option without one."""
        return {
            spelling: None if action.nargs == 0 else partial(_read, _kind(action), action.choices)
            for action in self._actions
            for spelling in action.option_strings
            if spelling not in ("-h", "--help")
        }

    def error(self, message: str) -> NoReturn:
        """Raises what argparse found as a UsageError."""
        raise UsageError(f"the arguments that devsan {self.prog.split()[-1]} --help shows", message)
