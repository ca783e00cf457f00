"""``devsan fix``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from devsan.cli.command import Action
from devsan.cli.run import RunCommand, split
from devsan.errors import DevsanError, UsageError, tell
from devsan.fix.change import applied, diff
from devsan.fix.experiment import Laboratory
from devsan.fix.job import Job
from devsan.fix.search import Search, Trial, search
from devsan.render.terminal.fix import write

_OWN = ("--diff", "--apply", "--all")

EXIT_FIXED, EXIT_NOT_FIXED = 0, 1


class FixCommand:
    """Find a fix by rehearsal: try changes until the program runs to its end with the right numbers.

    No file is changed, unless --apply is given. Exits with 0 if a fix was verified, 1 if none was, 2 for invalid
    arguments.
    """

    name = "fix"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the words; the job is started by what is returned."""
        own, rest = split(words, _OWN)
        if "-h" in own or "--help" in own:
            return _help
        options, _ = RunCommand().read([*(word for word in own if word not in _OWN), *rest])
        if options.output:
            raise UsageError("devsan fix without -o", "-o")
        job = Job(options, tuple(rest))
        return lambda: _run(job, set(own) & set(_OWN))


def _help() -> int:
    print("usage: devsan fix [--diff | --apply] [--all] [options of devsan run] script.py [args ...]\n\n"
          f"{FixCommand.__doc__}")  # fmt: skip
    return EXIT_FIXED


def _run(job: Job, asked: set[str]) -> int:
    def told(what: str, number: int, count: int) -> None:
        place = f" {number} of {count}" if count else ""
        tell(f"trying{place}: {what}")

    with Laboratory(job) as laboratory:
        found = search(laboratory, told, "--all" in asked)
    best = found.verified[0] if found.verified else None
    if "--diff" in asked:
        if best is not None:
            sys.stdout.write(diff(applied(best.changes)))
    else:
        write(found, sys.stdout)
    if "--apply" in asked and best is not None:
        return _apply(best, found)
    return EXIT_NOT_FIXED if best is None else EXIT_FIXED


def _apply(best: Trial, found: Search) -> int:
    if best.is_patch:  # for the library's authors
        tell("not applied: the fix is a patch of a library, see --diff")
        return EXIT_NOT_FIXED
    try:
        for path, text in applied(best.changes).items():
            Path(path).write_text(text, encoding="utf-8")
    except (OSError, DevsanError) as error:
        tell(str(error))
        return EXIT_NOT_FIXED
    return EXIT_FIXED
