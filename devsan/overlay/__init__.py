"""Files that a program finds changed, though nobody wrote to them.

NOTE [The overlay] An experiment changes a source file or a configuration for one run. The new texts lie in a folder
with a manifest; ``DEVSAN_OVERLAY`` names the folder. A process shows the new texts in four places: to the import
system, to ``open`` and ``io.open_code`` for reading (by the latter a spawned child finds its parent's ``__main__``),
to ``linecache``, from which tracebacks are printed, and as ``__main__``. Children, ranks among them, find
``startup/sitecustomize.py`` first on ``PYTHONPATH``, as ddtrace and OpenTelemetry reach theirs; a child whose script is
in the overlay starts itself anew (``new_start``), because Python opens its script in C.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import io
import json
import linecache
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VARIABLE = "DEVSAN_OVERLAY"
STARTUP = str(Path(__file__).with_name("startup"))

_MANIFEST = "manifest.json"

_texts: dict[str, str] = {}


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Writes an overlay.

    Args:
        folder: an empty folder that outlives the processes.
        texts: the new texts by the absolute paths of the files.
    """
    folder.joinpath(_MANIFEST).write_text(json.dumps(dict(texts)), encoding="utf-8")


def environment(folder: Path | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns ``environ`` as it is for a process, and its children, that is to see the overlay in ``folder``."""
    paths = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != STARTUP]
    changed = {name: value for name, value in environ.items() if name not in (VARIABLE, "PYTHONPATH")}
    if folder is not None:
        changed[VARIABLE] = str(folder)
        paths.insert(0, STARTUP)
    if paths:
        changed["PYTHONPATH"] = os.pathsep.join(paths)
    return changed


def install() -> None:
    """Shows this process the overlay that its environment names. Does nothing without one."""
    folder = os.environ.get(VARIABLE)
    if not folder or _texts:
        return
    texts = json.loads(Path(folder, _MANIFEST).read_text(encoding="utf-8"))
    if not texts:
        return
    _texts.update(texts)
    for path, text in texts.items():
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)  # None: never out of date
    loader: Any = importlib.machinery.SourceFileLoader
    loader.get_code = _with_text(loader.get_code)
    loader.get_data = _with_data(loader.get_data)
    builtins.open = io.open = _with_open(io.open)
    io.open_code = _with_open_code(io.open_code)


def text_of(path: str) -> str | None:
    """Returns the new text of the file ``path``; None where it is as it is."""
    return _texts.get(path) or _texts.get(os.path.realpath(path)) if _texts else None


def _with_text(get_code: Any) -> Any:
    def code(self: Any, name: str) -> Any:
        path = self.get_filename(name)
        text = text_of(path)
        # A cached .pyc is not asked: its time is that of the file.
        return get_code(self, name) if text is None else compile(text, path, "exec", dont_inherit=True)

    return code


def _with_data(get_data: Any) -> Any:
    def data(self: Any, path: str) -> Any:
        text = text_of(path)
        return get_data(self, path) if text is None else text.encode()

    return data


def _with_open(before: Any) -> Any:
    def open(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        text = text_of(os.path.abspath(os.fspath(file))) if _is_path(file) and not set(mode) & set("wax+") else None
        if text is None:
            return before(file, mode, *rest, **named)
        found = _Bytes(text.encode()) if "b" in mode else _Text(text)
        found.name, found.mode = file, mode
        return found

    return open


def _with_open_code(before: Any) -> Any:
    def open_code(path: str) -> Any:
        text = text_of(path)
        return before(path) if text is None else io.BytesIO(text.encode())

    return open_code


class _Text(io.StringIO):
    """A file of text, which has a name."""

    name: Any
    mode: str


class _Bytes(io.BytesIO):
    """A file of bytes, which has a name."""

    name: Any
    mode: str


def _is_path(file: Any) -> bool:
    return isinstance(file, (str, os.PathLike)) and isinstance(os.fspath(file), str)
