"""The frames of a traceback: whose code each is, and which expression in it was being evaluated."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import sys
import sysconfig
from collections.abc import Sequence
from enum import Enum
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from devsan.installed import installed_as
from devsan.introspect.frames.values import Scope
from devsan.introspect.source.syntax import node_at

OWN_FOLDER = str(Path(os.path.abspath(__file__)).parents[2]) + os.sep
"""Of the package ``devsan``."""

if TYPE_CHECKING:
    from devsan.introspect.frames.chain import Failure


class Whose(Enum):
    """Whose code a frame runs."""

    HIDDEN = "torch, Python, DevSan"  # machinery: nobody looks for a mistake there first
    LIBRARY = "an installed library"
    PROGRAM = "the program"


_HIDDEN_PACKAGES = frozenset({"torch", "torchgen", "functorch", "numpy"})
# Known by where they were imported from as well: a checkout, or `pip install --target`.
_FRAMEWORKS = (
    "accelerate", "bitsandbytes", "deepspeed", "diffusers", "lightning", "lightning_fabric", "peft",
    "pytorch_lightning", "transformers",
)  # fmt: skip


class Frame:
    """One frame of a traceback. Finding the expression parses the file, so it is done when first asked for."""

    def __init__(self, trace: TracebackType) -> None:
        self._trace = trace
        self.code: CodeType = trace.tb_frame.f_code
        self.file: str = trace.tb_frame.f_code.co_filename
        self.line: int = trace.tb_lineno
        self.offset: int = trace.tb_lasti
        self.scope = Scope(trace.tb_frame)

    @property
    def function(self) -> str:
        """The qualified name of the function, where Python tells it (from 3.11 on)."""
        return str(getattr(self.code, "co_qualname", self.code.co_name))

    @property
    def caller(self) -> FrameType | None:
        """The frame that called this one, when it still runs."""
        return self._trace.tb_frame.f_back

    def has_returned(self) -> bool:
        """Returns whether the frame is no longer running in this thread, while the one that called it is."""
        caller, here = self.caller, sys._getframe()
        running: list[FrameType] = []
        step: FrameType | None = here
        while step is not None:
            running.append(step)
            step = step.f_back
        return caller in running and self._trace.tb_frame not in running

    @cached_property
    def _execution(self) -> Any:
        try:
            import executing

            return executing.Source.executing(self._trace)
        except Exception:  # no source, or one that is not what runs
            return None

    @cached_property
    def node(self) -> ast.AST | None:
        """The expression being evaluated; a statement when no smaller thing is sure; None without source."""
        found = node_at(self.code, self.offset)
        if found is not None:
            return found
        execution = self._execution
        if execution is None:
            return None
        if isinstance(execution.node, ast.AST):
            return execution.node
        statements = [found for found in execution.statements or () if isinstance(found, ast.stmt)]
        return statements[0] if len(statements) == 1 else None

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file, empty when there is no source."""
        return [line.rstrip("\n") for line in linecache.getlines(self.file)]

    def segment(self, node: ast.AST) -> str:
        """Returns how the source writes ``node``, on one line."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not 0 < first <= last <= len(self.lines):
            return " ".join(ast.unparse(node).split())
        lines = [line.encode("utf-8", "surrogatepass") for line in self.lines[first - 1 : last]]
        lines[-1] = lines[-1][: node.end_col_offset]  # type: ignore[attr-defined]
        lines[0] = lines[0][node.col_offset :]  # type: ignore[attr-defined]
        return " ".join(b" ".join(lines).decode("utf-8", "surrogatepass").split())

    @cached_property
    def whose(self) -> Whose:
        """Whose code this is."""
        return whose(self.file)

    @cached_property
    def varargs(self) -> tuple[str | None, str | None]:
        """The names of ``*args`` and ``**kwargs`` of this function."""
        names = self.code.co_varnames[self.code.co_argcount + self.code.co_kwonlyargcount :]
        star = names[0] if self.code.co_flags & 0x04 else None
        twice = names[1 if star else 0] if self.code.co_flags & 0x08 else None
        return star, twice

    @property
    def forwards(self) -> bool:
        """Whether the failing call only passes on what this function was called with, as decorators and hooks do."""
        if not isinstance(self.node, ast.Call):
            return False
        star = self.varargs[0]
        return star is not None and any(
            isinstance(argument, ast.Starred) and isinstance(argument.value, ast.Name) and argument.value.id == star
            for argument in self.node.args
        )


def frames_of(trace: TracebackType | None, outer: TracebackType | None = None) -> list[Frame]:
    """Returns the frames of ``trace``, outermost first.

    Args:
        trace: of the error.
        outer: of the error that was raised from it, where one was: the callers of what caught it come first.
    """
    frames = _around(_in(trace), _in(outer))
    _know_command_line(frames)
    return frames


def frames_of_failure(failure: Failure) -> list[Frame]:
    """The frames of the refusal; with the callers of a wrapper in front where the refusal was caught and wrapped.

    Made once: the report and the diagnosis both ask, and what a frame has parsed it keeps.
    """
    kept: dict[str, Any] = vars(failure)  # no cache of this file: it would keep the program's tensors alive
    if "frames" not in kept:
        kept["frames"] = frames_of(failure.trace, failure.outer)
    return list(kept["frames"])


def _in(trace: TracebackType | None) -> list[Frame]:
    frames: list[Frame] = []
    while trace is not None:
        frames.append(Frame(trace))
        trace = trace.tb_next
    return frames


def _around(inner: list[Frame], outer: list[Frame]) -> list[Frame]:
    if inner and any(frame.whose is Whose.PROGRAM for frame in inner):
        return inner
    for place, frame in enumerate(outer):
        if inner and frame.code is inner[0].code:
            return outer[:place] + inner
    return inner or outer


def _know_command_line(frames: Sequence[Frame]) -> None:
    """Makes the text of ``-c`` the source of ``<string>`` where the innermost frame of that name was compiled from it.

    What ``exec`` runs has the same file name and no source.
    """
    code = next((frame.code for frame in reversed(frames) if frame.file == "<string>"), None)
    words = getattr(sys, "orig_argv", [])
    text = words[words.index("-c") + 1] if "-c" in words[:-1] else ""
    if code is None or not text:
        return
    entry = (len(text), None, text.splitlines(keepends=True), "<string>")
    if _is_compiled_from(text, code):
        linecache.cache.setdefault("<string>", entry)
    elif linecache.cache.get("<string>") == entry:
        del linecache.cache["<string>"]


def _is_compiled_from(text: str, code: CodeType) -> bool:
    """Whether ``code`` is that of ``text``, or of a function or class in it."""
    try:
        waiting = [compile(text, "<string>", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return False
    while waiting:
        each = waiting.pop()
        if each == code:
            return True
        waiting += [constant for constant in each.co_consts if isinstance(constant, CodeType)]
    return False


@functools.lru_cache(maxsize=4096)
def whose(file: str) -> Whose:
    """Returns whose code the file holds, by where it lies."""
    if file.startswith("<frozen"):
        return Whose.HIDDEN
    if file.startswith(OWN_FOLDER):
        return Whose.HIDDEN
    installed = installed_as(file)
    if installed:
        package = installed.split("/")[0].removesuffix(".py")
        return Whose.HIDDEN if package in _HIDDEN_PACKAGES else Whose.LIBRARY
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__ and file.startswith(os.path.dirname(torch.__file__) + os.sep):
        return Whose.HIDDEN  # a torch that was built in place
    if framework_of(file) is not None:
        return Whose.LIBRARY
    standard = sysconfig.get_path("stdlib")
    return Whose.HIDDEN if standard and file.startswith(standard + os.sep) else Whose.PROGRAM


def framework_of(file: str) -> tuple[str, str] | None:
    """Returns the imported framework that ``file`` belongs to, and the folder that its package lies in."""
    for name in _FRAMEWORKS:
        origin = getattr(sys.modules.get(name), "__file__", None)
        if origin is not None and file.startswith(os.path.dirname(origin) + os.sep):
            return name, os.path.dirname(os.path.dirname(origin))
    return None
