"""``devsan run``."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence

from devsan import excepthook, session
from devsan.cli.command import Action, Parser
from devsan.cli.executables import find_command
from devsan.cli.misplaced import apart, find
from devsan.cli.program import Code, CommandLine, Module, Program, Script
from devsan.errors import UsageError
from devsan.job import member
from devsan.options import OPTIONS, VARIABLE, Options, read_variable
from devsan.run_files import recording, run_file
from devsan.spelling import nearest

_USAGE = """devsan run [options] script.py [args ...]
       devsan run [options] -m module [args ...]
       devsan run [options] -c code [args ...]
       devsan run [options] -- command [args ...]"""

_EPILOG = f"""\
The same options reach programs that something else starts, through the environment:

  {VARIABLE}="gpus=4:profile=a100-80g:memory=24GiB" torchrun --nproc-per-node 4 train.py

devsan run sets {VARIABLE} for the children of the program, and options on its own command line win over it.
torch reads it through its backend autoloading; TORCH_DEVICE_BACKEND_AUTOLOAD=0 turns that off.

Exit code: that of the program, or 2 when devsan itself could not do what was asked."""

READERS = {spelling: option.read for option in OPTIONS for spelling in option.spellings}


class RunCommand:
    """Run a Python program, unedited, on emulated GPUs.

    The program runs as python would run it: the same arguments, paths, traceback and exit code. What devsan itself
    has to say goes to stderr.
    """

    name = "run"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the options, finds the program and starts the emulation."""
        options, program = self.read(words)
        if options.output:
            _prepare_output(options, starts_now=isinstance(program, CommandLine))
        if isinstance(program, CommandLine):
            os.environ[VARIABLE] = options.to_variable()
            program.reported(options)
            return program.run
        member.leave_behind()
        member.join(options)
        session.begin(options)
        if options.is_reported or options.output:
            excepthook.install()
        return _recorded(program.run) if options.output else program.run

    def read(self, words: Sequence[str]) -> tuple[Options, Program]:
        """Reads the options and finds the program, and tells of options that stand behind it; nothing starts."""
        own, rest = split(words)
        before = words[: len(words) - len(rest)]
        parser = Parser(self, usage=_USAGE, epilog=_EPILOG)
        for option in OPTIONS:
            help_text = option.help.replace("%", "%%")
            parser.add_argument(*option.spellings, dest=option.name, metavar=option.metavar, help=help_text)
        given = {key: text for key, text in vars(parser.parse_args(own)).items() if text is not None}
        options = read_variable(os.environ.get(VARIABLE, "")).updated(given)
        options.devices()  # contradictions are found before anything starts
        program = _find_program(rest, before)
        program.check()
        misplaced = find(program.arguments, READERS, program.texts())
        if misplaced is not None:
            named = rest[: len(rest) - len(program.arguments)]
            misplaced.tell(program.called, _line([*before, *misplaced.options], *named, *misplaced.others))
        return options, program


def _prepare_output(options: Options, starts_now: bool) -> None:
    """Begins another launch, also where a program under devsan starts devsan. See NOTE [Whose run file]."""
    if options.report_file:
        run_file.check_place(options.report_file)
    else:
        run_file.check(options.output)
    os.environ.pop(run_file.LAUNCH, None)
    if starts_now:
        os.environ[run_file.LAUNCH] = repr(time.time())


def _recorded(run: Action) -> Action:
    """Returns ``run``, which tells the run file how it ended. What it raises passes through."""

    def run_and_tell() -> int:
        try:
            code = run()
        except SystemExit as left:
            recording.ended(_exit_code(left.code))
            raise
        except BaseException as error:
            # Python's own answer to an uncaught Ctrl-C is to end by that signal, which a shell shows as 130.
            recording.ended(130 if isinstance(error, KeyboardInterrupt) else 1, error)
            raise
        recording.ended(code)
        return code

    return run_and_tell


def _exit_code(code: object) -> int:
    """The exit code that python makes of what ``sys.exit`` was given (handle_system_exit in pythonrun.c)."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def split(words: Sequence[str], flags: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Divides the words into devsan's own and the program's, which begin with a script, -m, -c or --.

    ``flags`` are further options, without a value.

    Not left to argparse: what it does with ``--`` and with options behind a positional differs between versions of
    Python, and a program's words must arrive as they were written.
    """
    names = [spelling for option in OPTIONS for spelling in option.spellings]
    own: list[str] = []
    rest = list(words)
    while rest:
        word = rest[0]
        if word in ("-h", "--help", *flags):
            own.append(rest.pop(0))
            continue
        if word == "--" or word[:2] in ("-m", "-c") or not word.startswith("-"):
            break
        name, equals, value = word.partition("=")
        if name not in names and word[:2] in names:  # -orun.dvs
            name, equals, value = word[:2], "=", word[2:].removeprefix("=")
        if name not in names:
            near = nearest(name, names)
            raise UsageError(f"an option of devsan run ({', '.join(names)})", repr(word), near)
        rest.pop(0)
        if not equals:
            if not rest:
                raise UsageError(f"a value after {name}", "nothing")
            value = rest.pop(0)
        own += [f"{name}={value}"] if name.startswith("--") else [name, value]
    return own, rest


def _find_program(words: Sequence[str], before: Sequence[str]) -> Program:
    """Reads what is to be run.

    Args:
        words: from the script, -m, -c or -- on.
        before: devsan's own words, for the line to type where they are in the wrong place.
    """
    if not words:
        raise UsageError("a program to run: script.py, -m module, -c code or -- command", "nothing")
    first, rest = words[0], words[1:]
    flag = first if first == "--" else first[:2]
    what = {"-m": "a module", "-c": "code", "--": "a command"}.get(flag)
    if what is None:
        if not os.path.exists(first) and find_command(first) is not None:
            raise UsageError("a script that exists", repr(first), _line(before, "--", *words))
        return Script(first, rest)
    if first == flag and rest and rest[0].partition("=")[0] in READERS:
        misplaced = apart(rest, READERS)
        hint = _line([*before, *misplaced.options], flag, *misplaced.others) if misplaced.options else None
        raise UsageError(f"{what} after {flag}", repr(rest[0]), hint)
    if flag == "--":
        return CommandLine(rest)
    if first != flag:  # python takes -mmodule as well
        rest = [first[2:], *rest]
    if not rest:
        raise UsageError(f"{what} after {flag}", "nothing")
    return Module(rest[0], rest[1:]) if flag == "-m" else Code(rest[0], rest[1:])


def _line(own: Sequence[str], *words: str) -> str:
    return shlex.join(["devsan", "run", *own, *words])
