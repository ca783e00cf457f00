"""One option of an emulation: how it is called, explained, read and written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from devsan.errors import UsageError
from devsan.spelling import nearest

Value = TypeVar("Value")

_FLAGS = {"1": "yes", "true": "yes", "on": "yes", "0": "no", "false": "no", "off": "no"}


@dataclass(frozen=True)
class Option:
    """One option: how it is called, explained, read and written.

    ``write(read(text))`` may differ from ``text`` in spelling, but ``read`` makes the same value of both.
    """

    name: str
    metavar: str
    help: str
    default: Any
    read: Callable[[str], Any]
    write: Callable[[Any], str]
    short: str = ""

    @property
    def key(self) -> str:
        """Returns the name as texts have it, with hyphens: "used-memory"."""
        return self.name.replace("_", "-")

    @property
    def is_flag(self) -> bool:
        """Returns whether a command line has it without a value."""
        return self.read is _read_flag

    @property
    def choices(self) -> tuple[str, ...]:
        """Returns the values that there are; none where there are too many to list."""
        choices: Callable[[], tuple[str, ...]] = getattr(self.read, "choices", tuple)
        return choices()

    @property
    def argument(self) -> dict[str, Any]:
        """Returns how argparse takes it: as a text, for ``Options.updated``."""
        text = self.help.replace("%", "%%")
        if self.is_flag:
            return {"action": "store_const", "const": self.write(True), "help": text}
        return {"metavar": self.metavar, "help": text}

    @property
    def spellings(self) -> tuple[str, ...]:
        """Returns how the option is written on a command line, the short one first: "-o", "--output"."""
        return (f"-{self.short}", f"--{self.key}") if self.short else (f"--{self.key}",)


def option(
    default: Value, *, metavar: str, read: Callable[[str], Value], write: Any, help: str, short: str = ""
) -> Value:
    """Returns a field of a dataclass that is an option; ``fields`` has what `Option` takes as its metadata."""
    metadata = {"metavar": metavar, "read": read, "write": write, "help": help, "short": short}
    made: Value = field(default=default, metadata=metadata)
    return made


def _read_flag(text: str) -> bool:
    return one_of("a flag", ("yes", "no"))(_FLAGS.get(text.strip().lower(), text)) == "yes"


def _write_flag(value: bool) -> str:
    return "yes" if value else "no"


def flag(*, help: str, short: str = "") -> bool:
    """Returns a field that is an option without a value on a command line."""
    return option(False, metavar="yes|no", read=_read_flag, write=_write_flag, help=help, short=short)


def lists(choices: Callable[[], tuple[str, ...]]) -> Callable[[Callable[[str], Value]], Callable[[str], Value]]:
    """Returns a decorator that says which values a function reads."""

    def decorated(read: Callable[[str], Value]) -> Callable[[str], Value]:
        read.choices = choices  # type: ignore[attr-defined]
        return read

    return decorated


def one_of(name: str, choices: Sequence[str]) -> Callable[[str], str]:
    """Returns what reads an option that is one of ``choices``."""

    @lists(lambda: tuple(choices))
    def read(text: str) -> str:
        if text not in choices:
            near = nearest(text, choices)
            expected = f"{name} to be {' or '.join(each for each in (', '.join(choices[:-1]), choices[-1]) if each)}"
            raise UsageError(expected, repr(text), near and repr(near))
        return text

    return read
