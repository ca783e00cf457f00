"""The words of a command that takes the options of an emulation, options of its own, and a program.

devsan run [options] script.py args..., -m module args..., -c code args..., -- command args...
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from devsan.cli.command import Parser, unknown_option
from devsan.cli.executables import find_command
from devsan.cli.misplaced import Readers, apart, find
from devsan.cli.program import Code, CommandLine, Module, Program, Script
from devsan.diagnostics.messages import message
from devsan.errors import UsageError
from devsan.option import Option
from devsan.options import OPTIONS, REPORTING, Options, find_option
from devsan.project_options import in_force

READERS: Readers = {each: None if option.is_flag else option.read for option in OPTIONS for each in option.spellings}
"""By spelling, what reads the value of an option of the emulation; None for a flag."""

_HELP = ("-h", "--help")


@dataclass(frozen=True)
class ProgramWords:
    """What the words ask for.

    Attributes:
        options: of the emulation, those of the environment among them.
        own: the values of the options that the command has beside these.
        program: what is to run.
        words: the program's, from the script, ``-m``, ``-c`` or ``--`` on.
        given: those in front of them.
    """

    options: Options
    own: argparse.Namespace
    program: Program
    words: tuple[str, ...]
    given: tuple[str, ...] = ()

    def repeated(self, command: str, without: Iterable[str]) -> str:
        """Returns the line that gives the same words to another command of devsan, without some options."""
        readers = {each: READERS[each] for name in without for each in find_option(name).spellings}
        given = [part for word in apart(self.given, readers).others for part in _parts(word)]
        return shlex.join(["devsan", command, *given, *self.words])


def _parts(word: str) -> list[str]:
    """An option and its value, as one would type them."""
    name, equals, value = word.partition("=")
    return [name, value] if equals and name.startswith("--") else [word]


@dataclass(frozen=True)
class _Line:
    """The line to type, where the words are in the wrong place."""

    command: str
    own: Sequence[str]
    readers: Readers

    def __call__(self, options: Sequence[str], *words: str) -> str:
        given = {word.partition("=")[0] for word in options} & self.readers.keys()
        again = {spelling: self.readers[spelling] for spelling in given}
        return shlex.join([*self.command.split(), *apart(self.own, again).others, *options, *words])


def read(
    parser: Parser, words: Sequence[str], settled: Mapping[str, Any] | None = None, why_settled: str = ""
) -> ProgramWords:
    """Reads the words, and tells of options that stand behind the program; nothing starts.

    Args:
        parser: of the command, with the options that it alone has; those of the emulation are added.
        words: what stands behind the command's name.
        settled: the values of options of the emulation that the command does not take, or takes with another meaning.
        why_settled: why it does not take those that say what is emulated, for who gives one of them.

    Raises:
        UsageError: they are not understood.
    """
    parser.words = words
    settled = settled or {}
    shared = [option for option in OPTIONS if option.name not in settled]
    named = {**parser.readers(), **{each: READERS[each] for option in shared for each in option.spellings}}
    group = parser.add_argument_group("options of devsan run") if parser.readers() else parser
    add_options(group, shared)
    refused = {
        each: f"{parser.prog} without {each}: {why_settled}"
        for option in OPTIONS if option.name in settled and option.name not in REPORTING for each in option.spellings
    }  # fmt: skip
    own, rest = _split(words, named, parser.prog, refused)
    given = vars(parser.parse_args(own))
    texts = {option.name: given.pop(option.name) for option in shared}
    options = replace(in_force(texts).options, **settled)
    options.devices()  # contradictions are found before anything starts
    line = _Line(parser.prog, words[: len(words) - len(rest)], named)
    program = _find_program(rest, named, line)
    program.check()
    # A flag of the emulation says how a run is told of: behind the program it changes nothing, and many have a -v.
    telling = {each for option in shared if option.is_flag for each in option.spellings}
    looked_for = {spelling: reader for spelling, reader in named.items() if spelling not in telling}
    misplaced = find(program.arguments, looked_for, program.texts())
    if misplaced is not None:
        called = rest[: len(rest) - len(program.arguments)]
        misplaced.tell(program.called, line(misplaced.options, *called, *misplaced.others))
    return ProgramWords(options, argparse.Namespace(**given), program, tuple(rest), tuple(own))


def add_options(group: argparse._ActionsContainer, options: Iterable[Option]) -> None:
    """Adds options of an emulation, whose values stay texts."""
    for option in options:
        group.add_argument(*option.spellings, dest=option.name, **option.argument)


def _split(
    words: Sequence[str], readers: Readers, command: str, refused: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Divides the words into devsan's own and the program's, which begin with a script, -m, -c or --.

    ``refused`` has the options that the command does not take, with what is expected instead.

    Not left to argparse: what it does with ``--`` and with options behind a positional differs between versions of
    Python, and a program's words must arrive as they were written.
    """
    own: list[str] = []
    rest = list(words)
    while rest:
        word = rest[0]
        if word in _HELP or (word in readers and readers[word] is None):
            own.append(rest.pop(0))
            continue
        if word == "--" or word[:2] in ("-m", "-c") or not word.startswith("-"):
            break
        name, equals, value = word.partition("=")
        if name not in readers and word[:2] in readers:  # -orun.dvs
            name, equals, value = word[:2], "=", word[2:].removeprefix("=")
        if name not in readers or readers[name] is None:
            if name in refused:
                raise UsageError(refused[name], repr(word))
            raise unknown_option(command, word, readers)
        rest.pop(0)
        if not equals:
            if not rest:
                raise UsageError(message("a value after {name}", name=name), "nothing")
            value = rest.pop(0)
        own += [f"{name}={value}"] if name.startswith("--") else [name, value]
    return own, rest


def _find_program(words: Sequence[str], readers: Readers, line: _Line) -> Program:
    """Reads what is to be run: ``words`` from the script, -m, -c or -- on."""
    if not words:
        raise UsageError("a program to run: script.py, -m module, -c code or -- command", "nothing")
    first, rest = words[0], words[1:]
    flag = first if first == "--" else first[:2]
    what = {"-m": "a module", "-c": "code", "--": "a command"}.get(flag)
    if what is None:
        if not os.path.exists(first) and find_command(first) is not None:
            raise UsageError("a script that exists", repr(first), line((), "--", *words))
        return Script(first, rest)
    if first == flag and rest and rest[0].partition("=")[0] in readers:
        misplaced = apart(rest, readers)
        hint = line(misplaced.options, flag, *misplaced.others) if misplaced.options else None
        raise UsageError(f"{what} after {flag}", repr(rest[0]), hint)
    if flag == "--":
        return CommandLine(rest)
    if first != flag:  # python takes -mmodule as well
        rest = [first[2:], *rest]
    if not rest:
        raise UsageError(f"{what} after {flag}", "nothing")
    return Module(rest[0], rest[1:]) if flag == "-m" else Code(rest[0], rest[1:])
