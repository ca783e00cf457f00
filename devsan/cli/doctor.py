"""``devsan doctor``."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devsan.cli.command import Action, Parser, add_fail_on, add_format, add_language
from devsan.cli.executables import find_command
from devsan.cli.misplaced import find
from devsan.cli.source import script_among, texts
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor import source
from devsan.doctor.as_report import report_of
from devsan.doctor.case import collect, named_by_launch
from devsan.doctor.check import check, in_order
from devsan.doctor.environment_report import block
from devsan.doctor.facts import gather, nothing
from devsan.doctor.fix_validation import fixed_files
from devsan.doctor.launch import read_launch
from devsan.doctor.masking import Mask
from devsan.doctor.output_formats import document, run_of, written
from devsan.doctor.summary import summary
from devsan.errors import UsageError, tell
from devsan.fail_on import exit_code
from devsan.render.formats import rendered
from devsan.render.language import language_for, language_named
from devsan.render.notice import notice
from devsan.render.terminal.printer import lines_of, write_lines
from devsan.render.terminal.stream import columns_of, unbroken_columns
from devsan.report_format import FORMATS, OF_RUNS
from devsan.spelling import nearest_script

_FORMATS = tuple(name for name in FORMATS if name not in OF_RUNS)

_KINDS = (".json", ".hjson", ".yaml", ".yml", ".py")


class DoctorCommand:
    """Check the environment, versions, configuration and source before a job starts.

    FILE is a configuration of DeepSpeed, FSDP or accelerate (JSON, YAML), a training script, or a folder of Python
    source. The command that will start the job comes after --. devsan doctor does not start or download anything, and
    changes files only with --fix: those that are named, here or in the launch command.
    Exit code: 0 if nothing is wrong, 1 for errors and warnings (--fail-on, --error-exitcode), 2 for invalid arguments.
    """

    name = "doctor"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the words; what they name is read later, because a file that cannot be read is a finding."""
        words, command = list(words), []
        if "--" in words:
            at = words.index("--")
            words, command = words[:at], words[at + 1 :]
            if not command:
                raise UsageError(
                    "a launch command after --", "nothing", "devsan doctor ds_config.json -- torchrun train.py"
                )
        launch = _launch_among(words)
        if launch < len(words):
            hint = _line(words[:launch], words[launch:])
            raise UsageError("-- before the launch command", repr(words[launch]), hint)
        parser = Parser(self, usage="devsan doctor [options] [FILE ...] [-- launch command]")
        parser.add_argument("files", metavar="FILE", nargs="*", help="configurations, scripts, folders of source")
        how = parser.add_mutually_exclusive_group()
        add_format(how, *_FORMATS)
        how.add_argument("--diff", action="store_true", help="print the automatic fixes as a diff")
        parser.add_argument("--fix", action="store_true", help="apply the safe fixes to the files")
        parser.add_argument("--redact", action="store_true",
                            help="mask paths, host name, user and addresses, for a public issue")  # fmt: skip
        parser.add_argument("--fast", action="store_true",
                            help="for launchers: under 2 s, without torch; prints only findings")  # fmt: skip
        parser.add_argument("--no-facts", action="store_true", help="print only the findings, not the environment")
        parser.add_argument("--no-machine", action="store_true",
                            help="check only the files, not the driver, torch and packages")  # fmt: skip
        add_language(parser)
        add_fail_on(parser, "warning")
        options = parser.read(words)
        for file in options.files:
            if not Path(file).is_dir() and not file.lower().endswith(_KINDS):
                raise UsageError("JSON, YAML, a Python file or a folder", repr(file))
            if file.endswith(".py") and not os.path.exists(file):
                raise UsageError("a Python file that exists", repr(file), nearest_script(file))
        if (options.diff or options.fix) and not (options.files or command):
            raise UsageError("files, folders or a launch command to fix", "none")
        if options.no_machine and not (options.files or command):
            raise UsageError("files, folders or a launch command to check", "none")
        _tell_misplaced(parser, words, command)
        return lambda: _run(options, command)


def _line(words: Sequence[str], command: Sequence[str]) -> str:
    return shlex.join(["devsan", "doctor", *words, "--", *command])


def _launch_among(words: Sequence[str]) -> int:
    """Returns where a launch command without its -- begins: a word that is no file here and a command on PATH."""
    for at, word in enumerate(words):
        is_value = at > 0 and words[at - 1] in ("--lang", "--format")
        if not (is_value or word.startswith("-") or os.path.exists(word)) and find_command(word) is not None:
            return at
    return len(words)


def _tell_misplaced(parser: Parser, words: Sequence[str], command: Sequence[str]) -> None:
    """Tells of the doctor's options behind the script of the launch command. See NOTE [Whose option]."""
    script = script_among(command)
    if script == len(command):
        return
    path = Path(command[script])
    misplaced = find(command[script + 1 :], parser.readers(), texts(path, path.parent))
    if misplaced is not None:
        line = _line([*words, *misplaced.options], [*command[: script + 1], *misplaced.others])
        misplaced.tell(command[script], line)


def _is_source(file: str) -> bool:
    return file.endswith(".py") or Path(file).is_dir()


@dataclass
class _Outcome:
    findings: list[Diagnostic]
    notes: list[str]


def _run(options: argparse.Namespace, command: Sequence[str]) -> int:
    early = read_launch(command, os.environ)
    environment = {**os.environ, **early.environment}
    quiet = options.no_machine or options.diff or options.fix
    facts = nothing(environment, options.no_machine) if quiet else gather(environment, options.fast)
    launch = read_launch(command, os.environ, len(facts.visible) if facts.driver.state == "ok" else None)
    case = collect(facts, launch, options.files)
    outcome = _checked(case)
    if options.diff or options.fix:
        case, outcome = _configurations(options, case, outcome)
    code = _source(options, case, outcome)
    if code is not None:
        return code
    if options.diff:
        return _exit_code(options, outcome.findings)
    outcome.findings = in_order(outcome.findings)
    _show(options, case, outcome)
    return _exit_code(options, outcome.findings)


def _exit_code(options: argparse.Namespace, findings: Sequence[Diagnostic]) -> int:
    found = (finding.severity for finding in findings)
    return exit_code(found, options.fail_on, options.error_exitcode, default="warning")


def _checked(case: Any) -> _Outcome:
    outcome = _Outcome([], [])

    def failed(rule: str, error: Exception) -> None:
        outcome.notes.append(f"the doctor's own rule {rule} failed: {type(error).__name__}: {error}")

    outcome.findings += check(case, failed)
    return outcome


def _configurations(options: argparse.Namespace, case: Any, outcome: _Outcome) -> tuple[Any, _Outcome]:
    """Shows or makes the fixes of configurations that the user named; after a fix, what is left is found anew."""
    named = {os.path.realpath(file) for file in (*options.files, *named_by_launch(case.launch))}
    made, notes = fixed_files(case, outcome.findings, unsafe=options.diff)
    written = False
    for each in made:
        if os.path.realpath(each.file) not in named:
            notes.append(f"{each.file}: name it on the command line to have it fixed")
        elif options.diff:
            print(each.diff(), end="")
        else:
            try:
                each.write()
            except OSError as error:
                notes.append(f"{each.file}: could not be fixed: {error.strerror or error}")
                continue
            written = True
            notice(message("fixed {path}", path=each.file))
    if written:
        case = collect(case.facts, case.launch, options.files)
        outcome = _checked(case)
    if options.diff:
        for note in notes:
            tell(note)
    else:
        outcome.notes += notes
    return case, outcome


def _source(options: argparse.Namespace, case: Any, outcome: _Outcome) -> int | None:
    """Checks the Python source that was named; returns an exit code where nothing else is to be said."""
    launch = case.launch
    paths = [Path(file) for file in options.files if _is_source(file)]
    if launch.script.endswith(".py") and os.path.isfile(launch.script) and Path(launch.script) not in paths:
        paths.append(Path(launch.script))
    if not paths:
        return None
    try:
        found = source.check(paths, launch, options.diff or options.fix)
    except Exception as error:  # what it cannot read must not hide what else was found
        outcome.notes.append(f"the source could not be checked: {type(error).__name__}: {error}")
        return None
    if options.diff or options.fix:  # what the configurations' rules find in a script, too
        found.findings += [each for each in outcome.findings if _is_in_source(each)]
    if options.diff:
        print(source.diff(found), end="")
        for note in found.notes:
            tell(note)
        return _exit_code(options, [*found.findings, *outcome.findings])
    if options.fix:
        fixed = source.fix(found)
        for path in fixed:
            notice(message("fixed {path}", path=path))
        outcome.notes += found.notes
        if fixed:
            outcome.findings = _checked(collect(case.facts, launch, options.files)).findings
        found = source.check(paths, launch, False)
    outcome.findings += found.findings
    outcome.notes += found.notes
    return None


def _is_in_source(finding: Diagnostic) -> bool:
    return any(_is_source(edit.place.file) for fix in finding.fixes for edit in fix.edits)


def _show(options: argparse.Namespace, case: Any, outcome: _Outcome) -> None:
    mask = Mask(case.facts.system) if options.redact else None
    if options.format != "terminal":
        text = _written(options, case, outcome, mask)
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return
    _print(options, case, outcome, language_for(sys.stdout, options.lang), mask)
    for note in outcome.notes:
        tell(note)


def _written(options: argparse.Namespace, case: Any, outcome: _Outcome, mask: Any) -> str:
    made = document(case.facts, case.launch, outcome.findings, outcome.notes, language_named(options.lang or "en"))
    if mask is not None:
        made = mask.all(made)
    if options.format == "json":
        return written(made)
    return rendered(options.format, [run_of(made, ["devsan", *sys.argv[1:]])])


def _print(options: argparse.Namespace, case: Any, outcome: _Outcome, say: Any, mask: Any) -> None:
    short = options.fast or options.no_facts or options.no_machine or options.fix
    lines = [] if short else [*block(case.facts, case.launch, say, unbroken_columns(sys.stdout)), []]
    for finding in outcome.findings:
        lines += [*lines_of(report_of(finding), say, *columns_of(sys.stdout)), []]
    if outcome.findings or not options.fast:  # a launcher prints findings only
        lines.append([(f"devsan doctor: {summary(outcome.findings, say)}", "title")])
    if mask is not None:
        lines = [[(mask.text("".join(piece for piece, _ in line)), "")] for line in lines]
        lines = [[("```text", "")], *lines, [("```", "")]]
    if lines:
        write_lines(lines, sys.stdout)
