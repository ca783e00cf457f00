"""Places in a Python program as the core knows them: file, span, function, source text, and whose code it is."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterable
from itertools import islice
from types import CodeType

from devsan import core
from devsan.installed import installed_as
from devsan.introspect.frames.frames import OWN_FOLDER, framework_of
from devsan.introspect.frames.frames import Frame as Running

PYTHON, DEVSAN = "python", "devsan"
CLASS_BODY = "<class>"

_ONE = {"pytorch_lightning": "lightning", "lightning_fabric": "lightning", "torchgen": "torch", "functorch": "torch"}
_GENERATED = "__create_fn__."  # the methods that dataclasses writes (dataclasses._create_fn)
_LONGEST = 12  # lines of one statement that are kept
_LOOPS = ("for ", "async for ")


@functools.lru_cache(maxsize=4096)
def package_of(file: str) -> str:
    """Returns the distribution that ``file`` belongs to, by where it lies: "torch"; "" is the program itself."""
    if file.startswith("<frozen"):
        return PYTHON
    if file.startswith(OWN_FOLDER):
        return DEVSAN
    installed = installed_as(file)
    if installed:
        package = installed.split("/")[0].removesuffix(".py")
        return _ONE.get(package, package)
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__ and file.startswith(os.path.dirname(torch.__file__) + os.sep):
        return "torch"  # built in place
    framework = framework_of(file)
    if framework is not None:
        return _ONE.get(framework[0], framework[0])
    standard = sysconfig.get_path("stdlib")
    return PYTHON if standard and file.startswith(standard + os.sep) else ""


def place_at(code: CodeType, offset: int) -> core.Frame:
    """Returns the core's Frame of the instruction at ``offset`` (bytes) of ``code``. Treat it as constant."""
    return _place_at(code.co_filename, code, offset)


# Code of the same text in two files is equal to Python: the file is a key of its own.
@functools.lru_cache(maxsize=4096)
def _place_at(_file: str, code: CodeType, offset: int) -> core.Frame:
    first = last = start = end = None
    if hasattr(code, "co_positions"):
        first, last, start, end = next(islice(code.co_positions(), max(offset, 0) // 2, None), (None,) * 4)
    if first is None:
        first = next((line for begin, stop, line in code.co_lines() if begin <= offset < stop), None)
    return place(code, first or code.co_firstlineno, last, start, end)


def place_of(frame: Running, module: str = "") -> core.Frame:
    """Returns the core's Frame of a frame of the traceback, with the path of the module whose method it is.

    From the instruction's own columns: to find the expression would parse every file of a deep stack.
    """
    here = place_at(frame.code, frame.offset)
    if not module:
        return here
    found = core.Frame(file=here.file, span=here.span, function=here.function, source=here.source)
    found.package, found.module = here.package, module
    return found


def place(
    code: CodeType, first: int, last: int | None = None, start: int | None = None, end: int | None = None
) -> core.Frame:
    """Returns the core's Frame; lines from 1, columns as offsets in bytes from 0 as Python counts them."""
    found = place_in(code.co_filename, name_of(code), first, last, start, end)
    if code.co_filename == "<string>" and found.function.startswith(_GENERATED):
        found.package = PYTHON
    return found


def place_in(
    file: str, function: str, first: int, last: int | None = None, start: int | None = None,
    end: int | None = None,
) -> core.Frame:  # fmt: skip
    """As ``place``, for a function that is known by its name."""
    lines = linecache.getlines(file)
    last = first if last is None else min(last, first + _LONGEST)
    header = _end_of_header(lines, first, last)
    if header is not None:  # the instructions that step through a loop are the whole statement's
        last, end = header
    span = core.Span(line=first, end_line=last)
    if start is not None and end is not None:
        span.column, span.end_column = _column(lines, first, start), _column(lines, last, end)
    source = "".join(lines[first - 1 : last]).strip("\n").strip()
    return core.Frame(file=clean(file), span=span, function=function, source=clean(source), package=package_of(file))


def _end_of_header(lines: list[str], first: int, last: int) -> tuple[int, int] | None:
    """The line and the offset in bytes at which the header ends of the loop that begins at ``first``; None without."""
    if not 0 < first < last <= len(lines) or not lines[first - 1].lstrip().startswith(_LOOPS):
        return None
    indent = len(lines[first - 1]) - len(lines[first - 1].lstrip())
    for line in range(first, last):
        header = "".join(lines[first - 1 : line])[indent:]
        try:
            [function] = ast.parse(f"async def f():\n {header.rstrip()}\n  pass").body
        except (SyntaxError, ValueError):
            continue
        end = function.body[0].iter.end_col_offset  # type: ignore[attr-defined]
        return line, end + indent - 1 if line == first else end
    return None


def name_of(code: CodeType) -> str:
    """Returns the qualified name of a function where Python tells it (from 3.11 on).

    The body of a class, which runs when the class is defined, is ``Model.<class>``.
    """
    name = str(getattr(code, "co_qualname", code.co_name))
    is_body = not code.co_flags & (inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS) and not code.co_name.startswith("<")
    return f"{name}.{CLASS_BODY}" if is_body else name


_STARTER = os.path.join("devsan", "cli", "main.py")


def without_machinery(frames: Iterable[core.Frame]) -> list[core.Frame]:
    """Returns ``frames`` (innermost first) without DevSan's own and without what started the program."""
    kept = list[core.Frame]()
    for frame in frames:
        if frame.package == DEVSAN and frame.file.endswith(_STARTER):
            break  # beyond it is the script that the shell started
        if frame.package != DEVSAN:
            kept.append(frame)
    while kept and kept[-1].package == PYTHON:
        kept.pop()
    return kept


def clean(text: str) -> str:
    """Returns ``text`` without what UTF-8 cannot say: file names may hold single surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _column(lines: list[str], line: int, offset: int) -> int:
    if not 0 < line <= len(lines):
        return offset + 1
    return len(lines[line - 1].encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore")) + 1
