"""The options that are in force for a command, and where each came from.

NOTE [Where options come from] The command line, else ``DEVSAN_OPTIONS``, else ``[tool.devsan]`` of the nearest
pyproject.toml that has it, from the working folder upwards, else the default. pyproject.toml is for what is typed as
``devsan`` or ``pytest --devsan-...`` alone: a program that DEVSAN_OPTIONS reaches has all that was in force where it
was started, and a program that imports devsan says itself what it wants. So has an experiment of ``devsan fix`` or
``devsan plan``, whose command has read that file, and taken from it what is meant for its runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devsan.errors import DevsanError, UsageError
from devsan.experiments import EXPERIMENT
from devsan.options import OPTIONS, VARIABLE, Options, find_option, texts_of_variable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE, TABLE = "pyproject.toml", "devsan"
COMMAND_LINE, DEFAULT = "command line", "default"


@dataclass(frozen=True)
class InForce:
    """Options, and by the name of each where it came from: a file, DEVSAN_OPTIONS, "command line" or "default"."""

    options: Options
    sources: Mapping[str, str]


def in_force(words: Mapping[str, str | None] | None = None, variable: str | None = None) -> InForce:
    """Returns the options that are in force. See NOTE [Where options come from].

    Args:
        words: the texts of the command line, by the names of the options; None is not given.
        variable: of ``DEVSAN_OPTIONS``; that of the process by default.

    Raises:
        DevsanError: a file, a key or a value is not understood.
    """
    variable = os.environ.get(VARIABLE, "") if variable is None else variable
    options, sources = Options(), {option.name: DEFAULT for option in OPTIONS}
    path, table = (Path(FILE), {}) if EXPERIMENT in os.environ else _table(Path.cwd())
    given = {name: text for name, text in (words or {}).items() if text is not None}
    for source, texts in (
        (str(path), table), (VARIABLE, texts_of_variable(variable)), (COMMAND_LINE, given),
    ):  # fmt: skip
        try:
            updated = options.updated(texts)
        except UsageError as error:
            raise error if table is not texts else DevsanError(f"[tool.{TABLE}] of {path}: {error}") from None
        named = {find_option(key).name for key in texts}
        changed = (each.name for each in OPTIONS if getattr(updated, each.name) != getattr(options, each.name))
        sources |= dict.fromkeys({*named, *changed}, source)
        options = updated
    return InForce(options, sources)


def language() -> str:
    """Returns the language that a command speaks where its command line says nothing; "" for that of the locale.

    Never raises: a command that needs no other option works where a file or a variable is not understood.
    """
    try:
        found = in_force()
    except DevsanError:
        return ""
    is_of_file = found.sources["lang"] not in (DEFAULT, VARIABLE)
    return "" if is_of_file and os.environ.get("DEVSAN_LANG") else found.options.lang


def _table(folder: Path) -> tuple[Path, Mapping[str, str]]:
    """The nearest file with the table, and what it says, as texts."""
    for path in (each / FILE for each in (folder, *folder.parents)):
        try:
            text = path.read_text(encoding="utf-8")
            table = tomllib.loads(text).get("tool", {}).get(TABLE) if TABLE in text else None
        except (OSError, UnicodeDecodeError):  # none here, or another tool's
            continue
        except tomllib.TOMLDecodeError as error:
            raise DevsanError(f"expected TOML, got {str(path)!r}: {error}") from None
        if table is not None:
            if not isinstance(table, Mapping):
                raise DevsanError(f"expected [tool.{TABLE}] of {path} to be a table, got {table!r}")
            return path, {key: _text(path, key, value) for key, value in table.items()}
    return folder / FILE, {}


def _text(path: Path, key: str, value: Any) -> str:
    try:
        option = find_option(key)
        is_flag = isinstance(value, bool)
        if is_flag != option.is_flag or not isinstance(value, (str, int, list)):
            kinds = "true or false" if option.is_flag else "a text, a number or a list of these"
            raise UsageError(f"{option.key} to be {kinds}", repr(value))
    except UsageError as error:
        raise DevsanError(f"[tool.{TABLE}] of {path}: {error}") from None
    if option.name == "output":  # as everything in that file, seen from its folder
        return str(path.parent / str(value))
    items = value if isinstance(value, list) else [value]
    return option.write(value) if is_flag else ",".join(map(str, items))
