"""``devsan fix``."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from devsan.cli import program_words
from devsan.cli.command import Action, Parser, add_format, read_timeout
from devsan.cli.interruptible import EXIT_INTERRUPTED, interruptible
from devsan.cli.program_words import ProgramWords
from devsan.cli.progress import Progress
from devsan.diagnostics.messages import message
from devsan.errors import DevsanError, UsageError, tell
from devsan.fix import kept
from devsan.fix.account import patches_of, result_of
from devsan.fix.experiment import Laboratory
from devsan.fix.job import Job
from devsan.fix.kept import KeptFix
from devsan.fix.result import FixResult
from devsan.fix.search import MOST_ROUNDS, Search, search
from devsan.fix.working_tree import WorkingTree
from devsan.options import NOT_OF_FIX, find_option
from devsan.render import github, json
from devsan.render.amounts import seconds
from devsan.render.notice import notice
from devsan.render.terminal import fix as terminal

EXIT_FIXED, EXIT_NOT_FIXED = 0, 1

_USAGE = """devsan fix [options] script.py [args ...]
       devsan fix [options] -m module [args ...]
       devsan fix [options] -c code [args ...]
       devsan fix [options] -- command [args ...]"""

_EPILOG = """\
Examples:

  devsan fix --gpus 4 train.py --epochs 1              what fixes train.py, and how that was found out
  devsan fix --diff train.py | git apply               takes the fix
  devsan fix --apply train.py                          the same
  devsan fix -- torchrun --nproc-per-node 2 train.py   a launched job
  devsan fix --ranks first,last -- torchrun --nnodes 64 --nproc-per-node 8 train.py
                                                       a sample of its ranks

The program runs once as it would on one device, and once for each change that is tried. It is given no terminal, and
its output is not shown.

Exit code: 0 if a fix is verified or nothing fails, 1 if none is or it cannot be written, 2 for invalid arguments."""

_SETTLED = {name: find_option(name).default for name in NOT_OF_FIX}
_WHY_SETTLED = "a fix is judged by its numbers, and each experiment has a policy of its own"


class FixCommand:
    """Find a fix by rehearsal: try changes until the program runs to its end with the right numbers.

    A change is verified if the program ends with it, and computes what it computes on one device: losses, gradients,
    weights, outputs. No file is changed, unless --apply is given.
    """

    name = "fix"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the words; the job is started by what is returned."""
        parser = Parser(self, usage=_USAGE, epilog=_EPILOG)
        how = parser.add_mutually_exclusive_group()
        add_format(how, "terminal", "json", "github")
        how.add_argument("--diff", action="store_true", help="print the best fix as a unified diff, and nothing else")
        parser.add_argument("--apply", action="store_true", help="write the best fix to the files of the working tree")
        parser.add_argument(
            "--force", action="store_true", help="with --apply: over changes that git does not have, too"
        )
        parser.add_argument("--all", action="store_true", help="try everything to find the best fix, not the first one")
        parser.add_argument("--timeout", metavar="SECONDS", type=read_timeout, default=600.0,
                            help="the most that one run may take (default: 600)")  # fmt: skip
        parser.add_argument("--rounds", metavar="N", type=_count, default=MOST_ROUNDS,
                            help=f"how many failures are followed, one behind the other (default: {MOST_ROUNDS})",
                            )  # fmt: skip
        parser.add_argument("--jobs", metavar="N", type=_count, default=0,
                            help="how many runs at once (default: as many as there are CPUs; 1 for a command)",
                            )  # fmt: skip
        asked = program_words.read(parser, words, _SETTLED, _WHY_SETTLED)
        if asked.own.force and not asked.own.apply:
            raise UsageError("--force with --apply", "--force alone")
        if not asked.options.devices():
            raise UsageError("emulated GPUs, on which alone experiments run", "--gpus real")
        return lambda: _run(asked, tuple(words))


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise UsageError("a number of at least 1", text)
    return value


def _run(asked: ProgramWords, words: tuple[str, ...]) -> int:
    own = asked.own
    job = Job(asked.options, asked.words)
    if own.apply and not own.force and not _is_committed(job):  # before minutes of search
        return EXIT_NOT_FIXED
    file = kept.file_of(job, (f"{own.rounds}", f"{own.all}"), asked.program.texts())
    known = kept.kept_in(file) if own.diff or (own.apply and own.format == "terminal") else None
    if known is not None:
        return _take(known, job, own)
    progress = Progress(language=asked.options.lang)
    start = time.monotonic()
    found = Search()
    try:
        with interruptible(), Laboratory(job, own.timeout, own.jobs) as laboratory:
            search(laboratory, progress, own.all, own.rounds, found)
    except KeyboardInterrupt:
        progress.close()
        notice(message("interrupted; no file was changed"))
        found.seconds = time.monotonic() - start
        if found.trials:
            with contextlib.suppress(KeyboardInterrupt):  # the second one
                result = result_of(found, _without_own(words), job.folder)
                _show(result, own, asked.options.lang)
                _keep(result, found, file)
        return EXIT_INTERRUPTED
    finally:
        progress.close()
    found.seconds = time.monotonic() - start
    result = result_of(found, _without_own(words), job.folder)
    _show(result, own, asked.options.lang)
    if result.best is None:
        return EXIT_NOT_FIXED if result.status == "not fixed" else EXIT_FIXED
    best = _keep(result, found, file)
    if best is None:
        return EXIT_NOT_FIXED
    return _apply(best, job.folder, own.force) if own.apply else EXIT_FIXED


def _keep(result: FixResult, found: Search, file: Path) -> KeptFix | None:
    """Keeps the best fix, if there is one; says so and returns None where a file that it changes has gone meanwhile."""
    if result.best is None:
        return None
    try:
        best = KeptFix(result.best.texts, result.best.diff, tuple(patches_of(result.best, found)))
    except DevsanError as error:
        tell(str(error))
        return None
    kept.keep(best, file)
    return best


def _take(fix: KeptFix, job: Job, own: argparse.Namespace) -> int:
    """Takes the fix that an earlier search has found, in place of a search. See NOTE [Kept fixes]."""
    time_ago, texts = seconds(max(1.0, round(fix.seconds))), "; ".join(fix.texts)
    notice(message("the fix that a search has verified {time} ago: {texts}", time=time_ago, texts=texts))
    if own.diff:
        _print(fix.diff)
    return _apply(fix, job.folder, own.force) if own.apply else EXIT_FIXED


def _is_committed(job: Job) -> bool:
    """Whether git has the program's own file as it is; says so where it has not."""
    tree = WorkingTree.around(job.folder)
    try:
        for word in filter(os.path.isfile, (word for word in job.words if word.endswith(".py"))):
            tree.check_committed(word)
    except DevsanError as error:
        tell(str(error))
        return False
    return True


def _without_own(words: Sequence[str]) -> tuple[str, ...]:
    """The command as it is repeated with --apply or --diff: without those, and without a format."""
    kept: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "--" and rest[0][:2] not in ("-m", "-c"):
        word = rest.pop(0)
        if word in ("--apply", "--diff", "--force"):
            continue
        taken = [word]
        if "=" not in word and word != "--all":
            taken.append(rest.pop(0))
        if not word.startswith("--format"):
            kept += taken
    return (*kept, *rest)


def _show(result: FixResult, own: argparse.Namespace, language: str) -> None:
    if own.diff and result.best is None:
        terminal.write(result, sys.stderr, language)  # stdout is for git apply
    elif own.diff and result.best is not None:
        _print(result.best.diff)
    elif own.format == "terminal":
        terminal.write(result, sys.stdout, language, own.apply)
    else:
        _print((json if own.format == "json" else github).render_fix(result))


def _print(text: str) -> None:
    """Writes to stdout as UTF-8 with the line ends as they are, which a diff needs."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()


def _apply(fix: KeptFix, folder: str, force: bool) -> int:
    try:
        WorkingTree.around(folder).write(fix.patches, force)
    except DevsanError as error:
        tell(str(error))
        return EXIT_NOT_FIXED
    for patch in fix.patches:
        notice(message("changed {path}", path=patch.path))
    return EXIT_FIXED
