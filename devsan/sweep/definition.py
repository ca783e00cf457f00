"""``sweep.toml``: what runs, over which matrix, within which limits."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devsan.errors import DevsanError, UsageError
from devsan.sizes import read_size
from devsan.spelling import nearest
from devsan.sweep.values import command_words

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("command", "preload", "timeout", "memory", "jobs", "options", "environment", "matrix", "exclude", "baseline")
DEFAULT_TIMEOUT = 600.0


@dataclass(frozen=True)
class Definition:
    """A sweep as its file says it.

    Attributes:
        path: of the file.
        command: the program as ``devsan run`` takes it; ``{axis}`` stands for a value.
        preload: modules that are imported once; cells are forks of the process that has them. Without any, each cell
            starts a process of its own.
        timeout: seconds that a cell may take.
        memory: bytes of host memory that a cell may take; 0 for its share of what is free.
        jobs: cells at once; 0 for as many as there are CPUs.
        options: of the emulation, for all cells.
        environment: for all cells.
        matrix: the axes.
        exclude: what is left out: cells that have these values.
        baseline: values with which a cell has to pass for the others to say anything.
    """

    path: Path
    command: tuple[str, ...]
    matrix: Mapping[str, Any]
    preload: tuple[str, ...] = ("torch",)
    timeout: float = DEFAULT_TIMEOUT
    memory: int = 0
    jobs: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    exclude: Sequence[Mapping[str, Any]] = ()
    baseline: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Returns where the program runs: the folder of the file."""
        return self.path.parent


def read_definition(path: str) -> Definition:
    """Returns the sweep that a file defines.

    Raises:
        DevsanError: there is no such file, it is no TOML, or a key or a value is not understood.
    """
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DevsanError(f"expected a sweep file, got {path!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DevsanError(f"expected TOML, got {path!r}: {error}") from error
    for key in given:
        if key not in _KEYS:
            raise UsageError(f"a key of a sweep ({', '.join(_KEYS)})", repr(key), nearest(key, _KEYS))
    for key in ("command", "matrix"):
        if not given.get(key):
            raise UsageError(f"{key} in {path!r}", "none")
    tables = {key: _table(key, given.get(key, {})) for key in ("matrix", "options", "environment", "baseline")}
    return Definition(
        Path(path).resolve(), command_words("the sweep", given["command"]), tables["matrix"],
        _texts("preload", given.get("preload", ["torch"])), _positive("timeout", given.get("timeout", DEFAULT_TIMEOUT)),
        read_size(given["memory"]) if isinstance(given.get("memory"), str) else _no_memory(given.get("memory")),
        _count(given.get("jobs", 0)), tables["options"], _strings("environment", tables["environment"]),
        _tables("exclude", given.get("exclude", [])), tables["baseline"],
    )  # fmt: skip


def environment_of(definition: Definition) -> dict[str, str]:
    """Returns the environment of the sweep: that of this process, without DevSan's own variables."""
    return {name: text for name, text in os.environ.items() if not name.startswith("DEVSAN_")}


def _table(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{key} as a table", repr(value), f"[{key}]")
    return value


def _tables(key: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise UsageError(f"{key} as tables", repr(value), f"[[{key}]]")
    return tuple(value)


def _texts(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise UsageError(f"{key} as a list of texts", repr(value))
    return tuple(value)


def _strings(key: str, table: Mapping[str, Any]) -> dict[str, str]:
    for name, value in table.items():
        if not isinstance(value, (str, int, float)):
            raise UsageError(f"a text for {name} in {key}", repr(value))
    return {name: str(value) for name, value in table.items()}


def _positive(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise UsageError(f"{key} as seconds, more than 0", repr(value))
    return float(value)


def _no_memory(value: Any) -> int:
    if value is not None:
        raise UsageError("memory as a size such as 4GiB", repr(value))
    return 0


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError("jobs as a number of cells at once", repr(value))
    return value
