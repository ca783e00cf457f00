"""What a command is: a small class whose docstring is its help."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, NoReturn, Protocol

from devsan.cli.help_text import ShowHelp
from devsan.diagnostics.messages import message
from devsan.errors import UsageError
from devsan.options import OPTIONS, find_option
from devsan.project_options import in_force, language
from devsan.report_format import FORMATS
from devsan.spelling import nearest

Action = Callable[[], int]

_UNRECOGNIZED = "unrecognized arguments: "  # argparse.ArgumentParser.parse_args


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


def unknown_option(command: str, word: str, known: Iterable[str]) -> UsageError:
    """Returns the refusal of an option; of a near one only its name is shown, of none the names of all.

    Args:
        command: "devsan run".
        word: as it was written.
        known: the options of the command, by their spellings.
    """
    names = list(known)
    name = word.partition("=")[0]
    is_format = "--format" in names and name.removeprefix("--") in FORMATS
    near = f"--format {name.removeprefix('--')}" if is_format else nearest(name, names)
    if near is not None:
        return UsageError(message("an option that {command} --help shows", command=command), repr(word), near)
    return UsageError(message("an option of {command} ({names})", command=command, names=", ".join(names)), repr(word))


def add_format(parser: argparse._ActionsContainer, *formats: str) -> None:
    """Adds ``--format``; the first of ``formats`` is the default."""

    def known(text: str) -> str:
        if text not in formats:
            near = nearest(text, formats)
            expected = message("a format ({names})", names=", ".join(formats))
            raise UsageError(expected, repr(text), near and f"--format {near}")
        return text

    listed = message("{formats} or {other} (default: {first})",
                     formats=", ".join(formats[:-1]), other=formats[-1], first=formats[0])  # fmt: skip
    parser.add_argument("--format", metavar="FORMAT", type=known, choices=formats, default=formats[0], help=listed)


def add_output(parser: argparse._ActionsContainer, help: str) -> None:
    """Adds ``-o`` and ``--force``, without which no file is overwritten."""
    parser.add_argument("-o", "--output", metavar="FILE", help=help)
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")


def add_fail_on(parser: Parser, level: str) -> None:
    """Adds ``--fail-on`` and ``--error-exitcode`` of ``devsan run``, for a command that runs no program.

    What they mean: devsan/fail_on.py. ``level`` is what counts by default.
    """
    told = {
        "fail_on": message("which findings count as a failure: error, warning (errors, too) or never "
                           "(default: {level})", level=level),
        "error_exitcode": message("exit code where findings count (default: 1)") if level != "never" else
        message("exit code where findings count (default: 1); alone it means --fail-on error"),
    }  # fmt: skip
    for name, text in told.items():
        option = find_option(name)
        described = {**option.argument, "help": text}
        parser.add_argument(*option.spellings, dest=name, type=option.read, default=None, **described)
        parser.in_force.append(name)


def add_language(parser: argparse._ActionsContainer) -> None:
    """Adds ``--lang``; without it, it is the one in force, or "" for that of the locale."""

    def known(text: str) -> str:
        return str(find_option("lang").read(text)) if text else text

    parser.add_argument("--lang", metavar="LANG", type=known, default=language(),
                        help="en or zh (default: DEVSAN_LANG, or the locale)")  # fmt: skip


def read_timeout(text: str) -> float:
    """Returns the seconds that ``--timeout`` gives.

    Raises:
        UsageError: not more than 0.
    """
    value = float(text)
    if not 0 < value < float("inf"):
        raise UsageError("a timeout of more than 0 seconds", text)
    return value


def _kind(action: argparse.Action) -> Callable[[str], object]:
    return action.type if callable(action.type) else str


def parser_of(command: Command) -> Parser:
    """Returns the parser that a command makes for itself, with all of its options."""
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        command.prepare(["--help"])
    assert Parser.last is not None
    return Parser.last


class Parser(argparse.ArgumentParser):
    """argparse with DevSan's manners: its errors are UsageErrors, and nothing may be abbreviated.

    Attributes:
        last: the one that was made last.
        words: that are read.
        in_force: the options that pyproject.toml or DEVSAN_OPTIONS may give where the words do not.
    """

    last: ClassVar[Parser | None] = None
    words: Sequence[str] = ()

    def __init__(self, command: Command, usage: str, epilog: str = "") -> None:
        Parser.last = self
        self.in_force: list[str] = []
        super().__init__(
            prog=f"devsan {command.name}",
            usage=usage,
            description=inspect.getdoc(command),
            epilog=epilog,
            allow_abbrev=False,
            add_help=False,
        )
        self.add_argument("-h", "--help", action=ShowHelp, help="show this help message and exit")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Reads the words; options may stand before, between and behind the others."""
        self.words = words
        options = self.parse_intermixed_args(list(words))
        missing = [name for name in self.in_force if getattr(options, name) is None]
        defaults = in_force().options if missing else None
        for name in missing:
            setattr(options, name, getattr(defaults, name) or None)
        return options

    def readers(self) -> dict[str, Callable[[str], object] | None]:
        """Returns, by spelling, what reads an option's value; None for an option without one."""
        return {
            spelling: None if action.nargs == 0 else partial(_read, _kind(action), action.choices)
            for action in self._actions
            for spelling in action.option_strings
            if spelling not in ("-h", "--help")
        }

    def values(self) -> dict[str, tuple[str, ...] | None]:
        """Returns, by spelling, the values that an option can have, none where they are not listed; None for a flag."""
        found: dict[str, tuple[str, ...] | None] = {}
        for action in self._actions:
            option = next((each for each in OPTIONS if each.name == action.dest), None)
            choices = tuple(action.choices or (option.choices if option is not None else ()))
            found |= dict.fromkeys(action.option_strings, None if action.nargs == 0 else choices)
        return found

    def error(self, message: str) -> NoReturn:
        """Raises what argparse found as a UsageError."""
        unknown = message.removeprefix(_UNRECOGNIZED).split()[0] if message.startswith(_UNRECOGNIZED) else ""
        if unknown.startswith("-"):
            raise unknown_option(self.prog, unknown, self.readers())
        raise UsageError(f"the arguments that devsan {self.prog.split()[-1]} --help shows", message)
