"""Lines and columns: from a piece of syntax to what is underlined in the text."""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
from collections.abc import Iterable

from devsan import ipython
from devsan.diagnostics.diagnostic import Label, Place
from devsan.installed import installed_as
from devsan.introspect.frames.frames import Frame, Whose, framework_of, whose

_TALLEST = 8  # lines of a call that are shown whole
_ENTRY = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+), in .+$', re.MULTILINE)


def site_at(frame: Frame, labels: Iterable[Label] = (), note: str = "") -> Place:
    """Returns the place of ``frame``'s failing expression with the lines that it covers."""
    node, labels = frame.node, tuple(labels)
    if node is None or not frame.lines:
        lines = {frame.line: frame.lines[frame.line - 1]} if 0 < frame.line <= len(frame.lines) else {}
        return _place(frame.file, frame.line, 0, lines, labels, note)
    first, last = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
    if isinstance(node, ast.stmt) and hasattr(node, "body"):  # of a loop or a function the head alone
        last = first
    wanted = set(range(first, last + 1))
    if len(wanted) > _TALLEST:
        wanted = {first, *(label.line for label in labels)}
    lines = {number: frame.lines[number - 1] for number in sorted(wanted) if number <= len(frame.lines)}
    column = _characters(frame.lines[first - 1], node.col_offset) + 1  # type: ignore[attr-defined]
    return _place(frame.file, first, column, lines, labels, note)


def _place(
    file: str, line: int, column: int, lines: dict[int, str], labels: tuple[Label, ...] = (), note: str = ""
) -> Place:
    return Place(shown_path(file), line, column, lines=lines, labels=labels, note=note, path=whole_path(file))


def label_at(frame: Frame, node: ast.AST, texts: tuple[str, ...] = (), offending: bool = False) -> Label | None:
    """Returns the label under ``node``, its first line if it has several; None without source."""
    line = getattr(node, "lineno", 0)
    if not 0 < line <= len(frame.lines):
        return None
    text = frame.lines[line - 1]
    start = _characters(text, node.col_offset)  # type: ignore[attr-defined]
    ends_here = node.end_lineno == line  # type: ignore[attr-defined]
    end = _characters(text, node.end_col_offset) if ends_here else len(text.rstrip())  # type: ignore[attr-defined]
    return Label(line, start, max(end, start + 1), texts, offending)


def site_in_text(message: str) -> Place | None:
    """Returns the innermost place outside torch in a traceback that a wrapper printed into the message."""
    entries = [(match["file"], int(match["line"])) for match in _ENTRY.finditer(message)]
    outside = [entry for entry in entries if whose(entry[0]) is not Whose.HIDDEN]
    for file, line in reversed(outside or entries):
        text = linecache.getline(file, line).rstrip("\n")
        return _place(file, line, 0, {line: text} if text else {})
    return None


def shown_path(file: str) -> str:
    """Returns ``file`` relative to the working directory, or to where packages are installed; a cell by its name."""
    cell = ipython.name_of(file) if "IPython" in sys.modules else None
    if cell is not None or file.startswith("<"):
        return cell or file
    installed = installed_as(file)
    if installed:
        return installed
    try:
        relative = os.path.relpath(os.path.realpath(file), os.path.realpath(os.curdir))
    except (OSError, ValueError):  # the working directory is gone; another drive
        return file
    if not relative.startswith(os.pardir):
        return relative
    framework = framework_of(file)
    return file if framework is None else os.path.relpath(file, framework[1])


def whole_path(file: str) -> str:
    """Returns ``file`` absolute; "<string>" and its like as they are."""
    try:
        return file if file.startswith("<") else os.path.abspath(file)
    except OSError:  # the working directory is gone
        return file


def _characters(line: str, offset: int) -> int:
    """The syntax tree counts bytes of UTF-8, an editor counts characters."""
    return len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore"))
