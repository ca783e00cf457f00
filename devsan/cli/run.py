"""``devsan run``."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from devsan import excepthook, session
from devsan.cli import program_words
from devsan.cli.closing import Closing
from devsan.cli.command import Action, Parser
from devsan.cli.program import CommandLine
from devsan.cli.program_words import ProgramWords
from devsan.job import member
from devsan.options import VARIABLE, Options
from devsan.run_files import recording, run_file

_USAGE = """devsan run [options] script.py [args ...]
       devsan run [options] -m module [args ...]
       devsan run [options] -c code [args ...]
       devsan run [options] -- command [args ...]"""

_EPILOG = f"""\
To set the same options for a program that another command starts, use the environment:

  {VARIABLE}="gpus=4:profile=a100-80g:memory=24GiB" torchrun --nproc-per-node 4 train.py

devsan run sets {VARIABLE} for child processes; options on its command line override the variable.
torch loads devsan through its backend autoloading; TORCH_DEVICE_BACKEND_AUTOLOAD=0 disables this.

Exit code: that of the program, or 2 for an error of devsan itself. --fail-on and --error-exitcode have findings change
it."""


class RunCommand:
    """Run an unmodified Python program on emulated GPUs.

    The program runs as with python: with the same arguments, paths, traceback and exit code. devsan prints its own
    messages on stderr.
    """

    name = "run"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the options, finds the program and starts the emulation."""
        asked = self.read(words)
        options, program = asked.options, asked.program
        if options.output:
            _prepare_output(options, starts_now=isinstance(program, CommandLine))
        closing = Closing(asked)
        if isinstance(program, CommandLine):
            os.environ[VARIABLE] = options.to_variable()
            program.reported(options)
            return lambda: closing.finish(program.run())
        closing.at_exit()
        member.leave_behind()
        member.join(options)
        session.begin(options)
        if options.is_reported or options.output:
            excepthook.install()
        return _recorded(program.run)

    def read(self, words: Sequence[str]) -> ProgramWords:
        """Reads the options and finds the program, and tells of options that stand behind it; nothing starts."""
        return program_words.read(Parser(self, usage=_USAGE, epilog=_EPILOG), words)


def _prepare_output(options: Options, starts_now: bool) -> None:
    """Begins another launch, also where a program under devsan starts devsan. See NOTE [Whose run file]."""
    run_file.check(options)
    os.environ.pop(run_file.LAUNCH, None)
    if starts_now:
        os.environ[run_file.LAUNCH] = repr(time.time())


def _recorded(run: Action) -> Action:
    """Returns ``run``, which notes how it ended. What it raises passes through."""

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
