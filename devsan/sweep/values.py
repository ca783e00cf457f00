"""The values of an axis: written in the file, or the lines of another file or of a command's output."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from devsan.errors import UsageError
from devsan.spelling import nearest

_SOURCES = ("file", "command")
_TIMEOUT = 600.0


def values_of(axis: str, given: Any, folder: Path) -> tuple[str, ...]:
    """Returns the values of an axis as texts, each once.

    Args:
        axis: its name, for what is said of an error.
        given: a list; or a table with the ``file`` that has a value in each line, or with the ``command`` that prints
            them so.
        folder: of the sweep, where both are found.

    Raises:
        UsageError: it is neither, there is no value, or the file or the command fails.
    """
    if isinstance(given, Mapping):
        lines = _lines_of(axis, given, folder)
        found = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    elif isinstance(given, list):
        found = [text_of(axis, value) for value in given]
    else:
        raise UsageError(f"a list of values for {axis}", repr(given), f"{axis} = {json.dumps([given], default=str)}")
    if not found:
        raise UsageError(f"at least one value for {axis}", "none")
    return tuple(dict.fromkeys(found))


def text_of(axis: str, value: Any) -> str:
    """Returns a value as a command line has it: a list with commas, a table as JSON.

    Raises:
        UsageError: TOML has it and a command line does not: a date.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, list):
        return ",".join(text_of(axis, each) for each in value)
    if isinstance(value, Mapping):
        return json.dumps(value)
    raise UsageError(f"texts, numbers, lists or tables as values of {axis}", repr(value))


def _lines_of(axis: str, given: Mapping[str, Any], folder: Path) -> Sequence[str]:
    for key in given:
        if key not in _SOURCES:
            raise UsageError(f"{axis} as a list, or with {' or '.join(_SOURCES)}", repr(key), nearest(key, _SOURCES))
    if len(given) != 1:
        raise UsageError(f"{axis} as a list, or with {' or '.join(_SOURCES)}", "both" if given else "an empty table")
    if "file" in given:
        path = folder / str(given["file"])
        try:
            return path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise UsageError(f"a file with the values of {axis}", f"{str(path)!r}: {error.strerror}") from error
    return _printed(axis, command_words(axis, given["command"]), folder)


def command_words(what: str, given: Any) -> tuple[str, ...]:
    """Returns the words of a command, which is written as one text or as a list.

    Raises:
        UsageError: it is neither, it is empty, or a quote in it is not closed.
    """
    if isinstance(given, list) and given and all(isinstance(word, str) for word in given):
        return tuple(given)
    try:
        words = shlex.split(given) if isinstance(given, str) else []
    except ValueError as error:
        raise UsageError(f"the command of {what} as a shell reads it", f"{given!r}: {error}") from error
    if not words:
        raise UsageError(f"the command of {what} as a text or a list of texts", repr(given))
    return tuple(words)


def _printed(axis: str, words: Sequence[str], folder: Path) -> list[str]:
    run = [sys.executable, *words[1:]] if words[0] == "python" else [*words]
    try:
        done = subprocess.run(run, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"a command that prints the values of {axis}", f"{shlex.join(words)}: {error}") from error
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise UsageError(f"a command that prints the values of {axis}", f"{shlex.join(words)}: {last}")
    return done.stdout.splitlines()
