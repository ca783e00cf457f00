"""``devsan``: finds the command and turns DevSan's own errors into one sentence and exit code 2."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from devsan.cli.command import Action, Command
from devsan.cli.executables import find_command
from devsan.cli.help_text import asked_language, filled, spoken
from devsan.cli.refusal import tell_refusal
from devsan.cmake_prefix import cmake_prefix
from devsan.core_library import release
from devsan.diagnostics.messages import message
from devsan.errors import EXIT_USAGE, DevsanError, UsageError, tell
from devsan.options import OPTIONS
from devsan.render.terminal.stream import terminal_columns
from devsan.render.terminal.text import WIDTH, paragraph
from devsan.spelling import nearest


@dataclass(frozen=True)
class CommandEntry:
    """A command of ``devsan``, imported when it is called: each needs much that the others do not.

    Attributes:
        name: how it is called; its module is the one of this name in devsan/cli.
        type: the command's class there.
        summary: its line in ``devsan --help``, the first of the class's docstring.
    """

    name: str
    type: str
    summary: str

    def prepare(self, words: Sequence[str]) -> Action:
        """Imports the command and has it read the words."""
        return self.command().prepare(words)

    def command(self) -> Command:
        """Imports the command."""
        command: Command = getattr(import_module(f"devsan.cli.{self.name}"), self.type)()
        return command


COMMANDS = (
    CommandEntry("run", "RunCommand", "Run an unmodified Python program on emulated GPUs."),
    CommandEntry("fix", "FixCommand",
                 "Find a fix by rehearsal: try changes until the program runs to its end with the right numbers."),
    CommandEntry("plan", "PlanCommand",
                 "Plan by rehearsal which GPU has which part of a model, and whether it fits."),
    CommandEntry("sweep", "SweepCommand",
                 "Run one program over a matrix of GPUs, parameters, environments and interpreters."),
    CommandEntry("top", "TopCommand", "Show what runs on emulated GPUs now: memory by GPU and rank, steps, time."),
    CommandEntry("report", "ReportCommand", "Show a run that devsan run -o recorded: findings, transfers, memory."),
    CommandEntry("doctor", "DoctorCommand",
                 "Check the environment, versions, configuration and source before a job starts."),
    CommandEntry("explain", "ExplainCommand", "Explain a code: the problem, an example, the cause and the fix."),
    CommandEntry("config", "ConfigCommand", "Show the options that are in force, and where each came from."),
    CommandEntry("completion", "CompletionCommand", "Print the script by which a shell completes devsan's words."),
    CommandEntry("env", "EnvCommand", "Print the versions and the machine, for a bug report."),
    CommandEntry("profiles", "ProfilesCommand", "List the GPU models that can be emulated."),
)  # fmt: skip

_MORE = """\
devsan COMMAND --help shows the options of a command; devsan version prints the version;
devsan --cmake-prefix prints the folder of the C++ headers for CMAKE_PREFIX_PATH."""

EXIT_PIPE = 141  # what a shell says of a command that SIGPIPE ended


def main(words: Sequence[str] | None = None) -> int:
    """Runs ``devsan`` with ``words`` (those of the process by default) and returns the exit code."""
    given = sys.argv[1:] if words is None else words
    try:
        action = _find_action(given)
    except DevsanError as error:
        tell_refusal(error, given)
        return EXIT_USAGE
    # Outside of the try: a DevsanError that the user's program raises belongs to that program.
    return action()


def _until_the_reader_leaves(action: Action) -> Action:
    """Returns ``action``, which ends quietly when the other side of a pipe (head, a pager) has gone."""

    def run() -> int:
        try:
            code = action()
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            # What is still buffered would raise again when Python ends: as the signal module's documentation says.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_PIPE

    return run


def _find_action(words: Sequence[str]) -> Action:
    names = [command.name for command in COMMANDS]
    if list(words[:1]) == ["help"] and (len(words) == 1 or words[1] in names):
        words = [*words[1:2], "--help"]
    first = words[0] if words else ""
    asked = asked_language(words)
    if first in ("-h", "--help") or (asked and words[-1] in ("-h", "--help") and first.startswith("--lang")):
        return _until_the_reader_leaves(partial(_show_help, asked))
    if first in ("--version", "version"):
        return _until_the_reader_leaves(_show_version)
    if first == "--cmake-prefix":
        return _until_the_reader_leaves(_show_cmake_prefix)
    for command in COMMANDS:
        if command.name == first:
            action = command.prepare(words[1:])
            # The program that devsan run starts meets a closed pipe as it does without devsan.
            return action if first == "run" else _until_the_reader_leaves(action)
    expected = message("a command ({names})", names=", ".join(names))
    if not words:
        raise UsageError(expected, "nothing", "devsan --help")
    if first.endswith(".py"):
        raise UsageError(expected, repr(first), f"devsan run {first}")
    near = nearest(first, [*names, "version", "--help", "--version", "--cmake-prefix"])
    raise UsageError(expected, repr(first), _rearranged(words) or (near and f"devsan {near}"))


def _rearranged(words: Sequence[str]) -> str | None:
    """Returns the line that was meant where the command is missing, or stands behind its options."""
    if words[0].startswith("-"):
        at = next((at for at, word in enumerate(words) if any(word == command.name for command in COMMANDS)), None)
        if at is not None:
            return shlex.join(["devsan", words[at], *words[:at], *words[at + 1 :]])
        option = words[0].partition("=")[0]
        return shlex.join(["devsan", "run", *words]) if any(option in each.spellings for each in OPTIONS) else None
    return shlex.join(["devsan", "run", "--", *words]) if find_command(words[0]) is not None else None


def _show_help(language: str) -> int:
    said = spoken(language).text
    width = max(len(command.name) for command in COMMANDS)
    print(f"{said('usage: ')}devsan COMMAND ...\n\n{said('The device sanitizer for PyTorch.')}\n\n{said('commands')}:")
    columns = terminal_columns(sys.stdout) or WIDTH
    for command in COMMANDS:
        for line in paragraph(f"  {command.name:<{width}}  ", "", said(command.summary), columns, width + 4):
            print("".join(text for text, _ in line))
    print("\n" + "\n".join(filled(said(_MORE), columns)))
    return 0


def _show_cmake_prefix() -> int:
    try:
        folder = cmake_prefix()
    except DevsanError as error:
        tell(str(error))
        return EXIT_USAGE
    print(folder)
    return 0


def _show_version() -> int:
    print(f"devsan {release()}")
    return 0
