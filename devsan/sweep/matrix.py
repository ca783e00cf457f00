"""From the matrix of a definition to its cells.

NOTE [Axes] An axis is, by its name: an option of the emulation (``gpus``, ``profile``, ``memory``, ...); ``python``,
the interpreter; a variable, where it stands under ``matrix.environment``; anything else is a parameter, which
``{name}`` stands for in the command and in the environment. Options and variables can stand there, too.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from devsan.errors import DevsanError, UsageError
from devsan.options import OPTIONS, REPORTING, Options
from devsan.spelling import nearest
from devsan.sweep.cell import Cell
from devsan.sweep.definition import Definition
from devsan.sweep.values import text_of, values_of

PYTHON = "python"
_ENVIRONMENT = "environment"
_OPTIONS = tuple(option.key for option in OPTIONS if option.name not in REPORTING)

_CHECK = """\
import importlib.util, sys
for name in sys.argv[1:]:
    if importlib.util.find_spec(name) is None: sys.exit(name)
"""


def axes_of(definition: Definition) -> dict[str, tuple[str, ...]]:
    """Returns the axes with their values, those of the environment behind the others.

    Raises:
        DevsanError: a name or a value is not understood.
    """
    given = dict(definition.matrix)
    variables = given.pop(_ENVIRONMENT, {})
    if not isinstance(variables, Mapping):
        raise UsageError("matrix.environment as a table", repr(variables), "[matrix.environment]")
    used = json.dumps([definition.command, dict(definition.environment)])
    for name in given:
        if name not in _OPTIONS and name != PYTHON and f"{{{name}}}" not in used:
            slip = nearest(name, re.findall(r"\{(\w+)\}", used), 0.7)
            if slip is not None:
                raise UsageError(f"{{{name}}} in the command or the environment", f"{{{slip}}}", f"{{{name}}}")
            near = nearest(name, [*_OPTIONS, PYTHON])
            raise UsageError(f"{{{name}}} in the command or the environment", "no use of this axis", near)
    for name in variables:
        if name in given:
            raise UsageError("axes with different names", f"{name} twice")
    axes = {**given, **variables}
    if not axes:
        raise UsageError("at least one axis in matrix", "none")
    found = {name: values_of(name, values, definition.folder) for name, values in axes.items()}
    if PYTHON in found:
        found[PYTHON] = tuple(_interpreter(each, definition.folder) for each in found[PYTHON])
    return found


def cells_of(definition: Definition, axes: Mapping[str, Sequence[str]]) -> list[Cell]:
    """Returns the cells of the matrix, the last axis changing first.

    Raises:
        DevsanError: a value is not understood, what it gives together is a contradiction, or nothing is left.
    """
    _check_tables(definition, axes)
    cells = []
    for values in itertools.product(*axes.values()):
        named = dict(zip(axes, values, strict=True))
        if any(_fits(named, table) for table in definition.exclude):
            continue
        cell = _cell(definition, axes, named)
        if definition.baseline:
            basis = {**named, **{name: text_of(name, value) for name, value in definition.baseline.items()}}
            if basis != named:
                cell = replace(cell, baseline=_cell(definition, axes, basis))
        cells.append(cell)
    if not cells:
        raise UsageError("at least one cell", "none: all are excluded")
    return cells


def selected(cells: Sequence[Cell], only: Sequence[str]) -> list[Cell]:
    """Returns the cells that have these values.

    Args:
        cells: of a sweep.
        only: "axis=value"; the value may be a pattern of the shell. Of several for an axis one has to fit.

    Raises:
        UsageError: no such axis, or no such cell.
    """
    wanted: dict[str, list[str]] = {}
    names = [name for name, _ in cells[0].values]
    for text in only:
        name, equals, value = text.partition("=")
        if not equals or name not in names:
            near = nearest(name, names)
            raise UsageError(f"--only with an axis ({', '.join(names)}) and its value", repr(text), near and f"{near}=")
        wanted.setdefault(name, []).append(value)
    found = [cell for cell in cells if all(
        any(fnmatchcase(dict(cell.values)[name], pattern) for pattern in patterns) for name, patterns in wanted.items()
    )]  # fmt: skip
    if not found:
        raise UsageError("--only with values of the matrix", " ".join(only))
    return found


def check_interpreters(cells: Sequence[Cell], definition: Definition) -> None:
    """Looks whether each interpreter has DevSan and what is to be imported once.

    Raises:
        DevsanError: one has not.
    """
    for python in dict.fromkeys(cell.python or sys.executable for cell in cells):
        words = [python, "-c", _CHECK, "devsan", *definition.preload]
        try:
            done = subprocess.run(words, cwd=definition.folder, capture_output=True, text=True, check=False)
        except OSError as error:
            raise UsageError("an interpreter that runs", f"{python!r}: {error.strerror}") from error
        if done.returncode != 0:
            missing = done.stderr.strip().rpartition("\n")[2]
            raise DevsanError(f"expected {missing} to be installed for {python}, got none")


def _cell(definition: Definition, axes: Mapping[str, Sequence[str]], named: Mapping[str, str]) -> Cell:
    variables = definition.matrix.get(_ENVIRONMENT, {})
    texts = {name: text_of(name, value) for name, value in definition.options.items()}
    texts |= {name: value for name, value in named.items() if name in _OPTIONS}
    try:
        options = Options().updated(texts)
        options.devices()  # contradictions are found before anything starts
    except DevsanError as error:
        raise DevsanError(f"{error} (at {' '.join(f'{name}={value}' for name, value in texts.items())})") from error
    if not options.gpus:
        raise UsageError("emulated GPUs, on which alone cells run", "gpus = real")
    environment = {name: _filled(text, named) for name, text in definition.environment.items()}
    fixed = {name: text for name, text in environment.items() if text == definition.environment[name]}
    own = {name: named[name] for name in variables}
    words = tuple(_filled(word, named) for word in definition.command)
    _check_program(words, definition.folder)
    several = [name for name, values in axes.items() if len(values) > 1] or list(axes)
    title = " ".join(f"{name}={named[name]}" for name in several)
    return Cell(
        tuple(named.items()), title, options, words, tuple({**environment, **own}.items()),
        tuple({**fixed, **own}.items()), named.get(PYTHON, ""),
    )  # fmt: skip


def _filled(text: str, named: Mapping[str, str]) -> str:
    for name, value in named.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _check_program(words: Sequence[str], folder: Path) -> None:
    first = words[0]
    if first in ("-m", "-c", "--"):
        if len(words) == 1:
            raise UsageError(f"a program after {first} in command", "nothing")
        return
    if not (folder / first).exists():
        hint = None
        if first in ("devsan", "python", "python3") or shutil.which(first):
            hint = "command without it" if first.startswith("python") else f"-- {first}"
        raise UsageError("command with a program that exists: script.py, -m module, -c code or -- command",
                         repr(first), hint)  # fmt: skip


def _check_tables(definition: Definition, axes: Mapping[str, Sequence[str]]) -> None:
    for name in definition.options:
        if name not in _OPTIONS:
            raise UsageError(f"an option ({', '.join(_OPTIONS)})", repr(name), nearest(name, _OPTIONS))
    for what, table in [("exclude", table) for table in definition.exclude] + [("baseline", definition.baseline)]:
        for name in table:
            if name not in axes:
                raise UsageError(f"an axis ({', '.join(axes)}) in {what}", repr(name), nearest(name, list(axes)))


def _fits(named: Mapping[str, str], table: Mapping[str, Any]) -> bool:
    """Whether a cell has a value of each entry; an entry may list several."""
    return all(
        named[name] in {text_of(name, each) for each in (value if isinstance(value, list) else [value])}
        for name, value in table.items()
    )


def _interpreter(given: str, folder: Path) -> str:
    """An interpreter by its path, its name, or the folder of its virtual environment."""
    path = folder / os.path.expanduser(given)
    if (path / "bin" / "python").exists():
        return str(path / "bin" / "python")
    if path.is_file():
        return str(path)
    found = shutil.which(given)
    if found is None:
        raise UsageError("an interpreter or a virtual environment", repr(given))
    return found
