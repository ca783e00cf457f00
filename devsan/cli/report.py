"""``devsan report``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from devsan.cli.command import Action, Parser, add_fail_on, add_format, add_language, add_output
from devsan.errors import EXIT_USAGE, UsageError, tell
from devsan.fail_on import exit_code
from devsan.job.text import write_runs
from devsan.render.formats import Runs, rendered
from devsan.report_format import FORMATS, format_of
from devsan.run_files import output_file
from devsan.run_files.ranks import findings_of
from devsan.run_files.reader import read_run
from devsan.run_files.run_file import files_of


class ReportCommand:
    """Show a run that devsan run -o recorded: findings, transfers, memory.

    Several files are the ranks of one run; run.dvs stands for run.rank0.dvs and the others of that name. The file of a
    killed run is shown up to its last record.
    Exit code: 0, or where --fail-on or --error-exitcode is given that of the findings; 2 for invalid arguments.
    """

    name = "report"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the words and the run files."""
        parser = Parser(self, usage="devsan report [--format FORMAT] [--lang LANG] [-o FILE] run.dvs [...]")
        parser.add_argument("files", metavar="run.dvs", nargs="+", help="run file that devsan run -o wrote")
        add_format(parser, *FORMATS)
        parser.set_defaults(format=None)
        written = "write to FILE instead of stdout; its ending chooses the format where none is given"
        add_output(parser, written)
        add_language(parser)
        add_fail_on(parser, "never")
        options = parser.read(words)
        runs = sorted(
            (read_run(file) for name in options.files for file in files_of(name)),
            key=lambda run: int(run["process"]["rank"]),
        )
        if options.output is not None and not options.force:
            output_file.refuse(options.output)
        how = options.format or format_of(options.output or "") or FORMATS[0]
        code = exit_code((shared.finding["severity"] for shared in findings_of(runs)),
                         options.fail_on, options.error_exitcode)  # fmt: skip
        if options.output is None:
            return lambda: _show(runs, how, options.lang) or code
        return lambda: _save(runs, how, options.lang, options.output) or code


def _show(runs: Runs, how: str, language: str) -> int:
    _write(how, runs, sys.stdout, language)
    return 0


def _save(runs: Runs, how: str, language: str, path: str) -> int:
    try:
        with open(path, "w", encoding="utf-8") as file:
            _write(how, runs, file, language)
    except OSError as error:
        tell(str(UsageError("a file that can be written", f"{path!r}: {error.strerror}")))
        return EXIT_USAGE
    return 0


def _write(how: str, runs: Runs, stream: TextIO, language: str) -> None:
    """Writes to ``stream``; what its encoding lacks is escaped."""
    if how == FORMATS[0]:
        write_runs(runs, stream, language)
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(rendered(how, runs, language).encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
