"""Which files are checked, and the check of one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.source.check_result import CheckResult
from devsan.doctor.source.program import follow_program
from devsan.doctor.source.rules import RULES
from devsan.doctor.source.source_file import SourceFile, Unreadable, read_source
from devsan.doctor.source.visible import UNLAUNCHED, Launched

_PASSED_OVER = frozenset({"node_modules", "site-packages", "__pycache__", "build", "dist", "venv"})
_DEEPEST = 5_000  # frames of Python: an expression of a few hundred terms takes as many


def python_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yields the files to check: those that are named, and of folders every ``.py`` that is no installed package."""
    seen = set()
    for path in paths:
        found = _inside(path) if path.is_dir() else iter([path])
        for file in found:
            if file not in seen:
                seen.add(file)
                yield file


def _inside(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name not in _PASSED_OVER and not name.startswith(".")
            and not (Path(root, name) / "pyvenv.cfg").exists()
        )  # fmt: skip
        yield from (Path(root, name) for name in sorted(files) if name.endswith(".py"))


def check_file(path: Path, launched: Launched, edits: bool) -> CheckResult:
    """Checks a file. Whatever is wrong with it is one sentence."""
    try:
        source = read_source(path)
    except Unreadable as error:
        return CheckResult(notes=[str(error)])
    return check_source(source, launched, edits)


def check_source(source: SourceFile, launched: Launched = UNLAUNCHED, edits: bool = True) -> CheckResult:
    """Checks a file that was read."""
    made = CheckResult(files=1)
    if "torch" not in source.text and "from_pretrained" not in source.text and "CUDA_VISIBLE" not in source.text:
        return made
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        program = follow_program(source, launched)
        found = [finding for rule in RULES for finding in rule(program, edits)]
        if not program.whole:
            made.notes.append(f"{source.name}: too long to be followed to its end; only its beginning was checked")
    except Exception as error:  # our own mistake: said, and the other files are checked
        return CheckResult(notes=[f"{source.name}: could not be checked: {type(error).__name__}: {error}"])
    finally:
        sys.setrecursionlimit(limit)
    made.findings = _each_once(found)
    return made


def _each_once(findings: list[Diagnostic]) -> list[Diagnostic]:
    """One finding for a place and code; an error before a warning of the same line."""
    found: dict[tuple[str, int, int], Diagnostic] = {}
    for finding in findings:
        place = finding.place
        key = (finding.code, place.line if place else 0, place.column if place else 0)
        found.setdefault(key, finding)
    return sorted(found.values(), key=lambda each: (each.place.line, each.place.column) if each.place else (0, 0))
