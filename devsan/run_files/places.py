"""What documents hold of places in the program's source: frames with their paths."""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from devsan import core
from devsan.diagnosis.source import shown_path, whole_path

Plain = dict[str, Any]

_FRAMES = 16  # of a stack that are kept, the innermost ones; those of the program are kept all
_CALLED = 2  # and of a library those that the program called: a function, and what wraps it


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def word(value: _Named) -> str:
    """Returns a value of one of the core's enumerations as documents write it: EventKind.MADE is "made"."""
    return value.name.lower()


def frames_of(frames: Sequence[core.Frame]) -> list[Plain]:
    """Returns the innermost frames of a stack, and all of the program with what they called of a library."""
    kept = [
        frame for number, frame in enumerate(frames)
        if number < _FRAMES or any(not each.package for each in frames[number : number + _CALLED + 1])
    ]  # fmt: skip
    return [made for frame in kept if (made := frame_of(frame)) is not None]


def frame_of(frame: core.Frame | None) -> Plain | None:
    """Returns a frame; None for one that is not known."""
    if frame is None or not frame.file:
        return None
    span, file = frame.span, frame.file
    return {
        "file": shown_path(file), "path": whole_path(file), "line": span.line, "column": span.column,
        "end_line": span.end_line, "end_column": span.end_column, "function": frame.function,
        "source": frame.source, "package": frame.package, "module": frame.module,
    }  # fmt: skip


def frame_from(plain: Mapping[str, Any] | None) -> core.Frame:
    """Returns the frame that ``frame_of`` wrote, or a place of which path and line alone are known; a frame that is not
    known for None."""
    if not plain:
        return core.Frame()
    line = int(plain["line"])
    span = core.Span(
        line=line, column=int(plain.get("column") or 0), end_line=int(plain.get("end_line") or line),
        end_column=int(plain.get("end_column") or 0),
    )  # fmt: skip
    source = plain.get("source")
    if source is None:
        source = linecache.getline(str(plain["path"]), line).strip()
    return core.Frame(
        file=str(plain["path"]), span=span, function=str(plain.get("function") or ""), source=str(source),
        package=str(plain.get("package") or ""), module=str(plain.get("module") or ""),
    )  # fmt: skip
