"""``devsan report``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from devsan.cli.command import Action, Parser, add_format
from devsan.errors import DevsanError, UsageError
from devsan.options import LANGUAGES

Runs = Sequence[Mapping[str, Any]]

FORMATS = ("terminal", "json", "html", "sarif", "github")


class ReportCommand:
    """Show what devsan run -o recorded: findings, who moved what, memory.

    Several files are the ranks of one run. A file that a killed run left is shown as far as it goes.
    """

    name = "report"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the words and the run files."""
        parser = Parser(self, usage="devsan report [--format FORMAT] [--lang LANG] [-o FILE] run.dvs [run2.dvs ...]")
        parser.add_argument("files", metavar="run.dvs", nargs="+", help="what devsan run -o wrote")
        add_format(parser, *FORMATS)
        parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
        parser.add_argument("--lang", metavar="LANG", choices=LANGUAGES, default="",
                            help="of terminal: en or zh (default: DEVSAN_LANG, or the locale's)")  # fmt: skip
        options = parser.read(words)
        from devsan.run_files.reader import read_run

        runs = sorted((read_run(file) for file in options.files), key=lambda run: int(run["process"]["rank"]))
        if options.output is None:
            return lambda: _show(runs, options.format, options.lang)
        return lambda: _save(runs, options.format, options.lang, options.output)


def _show(runs: Runs, how: str, language: str) -> int:
    if how == "terminal":
        from devsan.job.recorded import write

        write(runs, sys.stdout, language)
        return 0
    text = _render(how)(runs)
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
    return 0


def _save(runs: Runs, how: str, language: str, path: str) -> int:
    from devsan.errors import tell

    try:
        with open(path, "w", encoding="utf-8") as file:
            if how == "terminal":
                from devsan.job.recorded import write

                write(runs, file, language)
            else:
                file.write(_render(how)(runs))
    except OSError as error:
        tell(str(UsageError("a file that can be written", f"{path!r}: {error.strerror}")))
        return 2
    return 0


def _render(how: str) -> Callable[[Runs], str]:
    if how == "json":
        from devsan.render.json import render
    elif how == "sarif":
        from devsan.render.sarif import render
    elif how == "github":
        from devsan.render.github import render
    elif how == "html":
        from devsan.render import html

        return lambda runs: html.render(*runs)
    else:
        raise DevsanError(f"expected a format, got {how!r}")
    return render
