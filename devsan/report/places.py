"""What documents hold of places in the program's source: frames with their paths, edits with where they apply."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from devsan import core
from devsan.diagnostics.codes import name_of
from devsan.introspect.frames.edits import can_run
from devsan.report.source import shown_path, whole_path

Plain = dict[str, Any]

_FRAMES = 16  # of a stack that are kept, the innermost ones; those of the program are kept all


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def word(value: _Named) -> str:
    """Returns a value of one of the core's enumerations as documents write it: EventKind.MADE is "made"."""
    return value.name.lower()


def named(codes: Iterable[str]) -> list[Plain]:
    """Returns codes with their names."""
    return [{"code": each, "name": name_of(each)} for each in codes]


def frames_of(frames: Sequence[core.Frame]) -> list[Plain]:
    """Returns the innermost frames of a stack, and all of the program."""
    kept = [frame for number, frame in enumerate(frames) if number < _FRAMES or not frame.package]
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


def edit_of(fix: core.Fix) -> Plain | None:
    """Returns the edit of a fix. One that names what is not there yet at its line is kept, and marked as a sketch."""
    edit = fix.edit
    if edit is None:
        return None
    fits = fix.kind == core.FixKind.USE_SITE or can_run(edit.file, edit.line, edit.before, edit.after)
    column, end_line, end_column = _span_of(edit.file, edit.line, edit.before)
    return {
        "file": shown_path(edit.file), "path": whole_path(edit.file), "line": edit.line, "column": column,
        "end_line": end_line, "end_column": end_column, "before": edit.before, "after": edit.after,
        "applicable": fits and column > 0,
    }  # fmt: skip


def _span_of(file: str, line: int, text: str) -> tuple[int, int, int]:
    """Returns where ``text`` stands from ``line`` on: its column, and the line and column behind it; zeros where the
    source does not hold it."""
    there = linecache.getlines(file)[line - 1 :] if line > 0 else []
    if not there or not text:
        return 0, 0, 0
    lines = text.splitlines()
    start = there[0].find(lines[0])
    if start < 0 or not "".join(there[: len(lines)])[start:].startswith(text):
        return 0, 0, 0
    end = len(lines[-1]) + (start if len(lines) == 1 else 0)
    return start + 1, line + len(lines) - 1, end + 1
