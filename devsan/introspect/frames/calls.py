"""Statements in the program's own files, found by what they call or write into: for what leaves no other trace."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from devsan import core
from devsan.introspect.frames.frames import Frame, Whose, whose
from devsan.introspect.frames.places import place_in
from devsan.introspect.source.syntax import function_around


def only_call(frames: Sequence[Frame], names: frozenset[str]) -> core.Frame | None:
    """Returns the place (the core's Frame) of the only call of one of ``names`` in the innermost file of ``frames``
    that has one, or in the main program; None where no file has one, or that file several.

    Args:
        frames: of the traceback.
        names: last words of what is called: "set_default_device".
    """
    return _only(frames, lambda node: isinstance(node, ast.Call) and _last_word(node.func) in names)


def only_write_into_state(frames: Sequence[Frame]) -> core.Frame | None:
    """Returns the place of the only statement that writes into an optimizer's state, as ``only_call`` looks for it:
    ``optimizer.state[parameter] = ...``, ``optimizer.state[parameter].update(...)``."""
    return _only(frames, _writes_into_state)


def _only(frames: Sequence[Frame], is_meant: Callable[[ast.AST], bool]) -> core.Frame | None:
    matches = ((file, list(_nodes(file, is_meant))) for file in _files(frames))
    file, found = next(((file, found) for file, found in matches if found), ("", []))
    if len(found) != 1:
        return None
    node, function = found[0]
    ends = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
    return place_in(file, function, *ends)


def _writes_into_state(node: ast.AST) -> bool:
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
        target = node.func.value
        key = target.slice if isinstance(target, ast.Subscript) else None
        target = None if isinstance(key, ast.Constant) else target  # a trainer's state: state["metrics"].update()
    written = isinstance(target, ast.Subscript)
    while isinstance(target, ast.Subscript):
        target = target.value
    return written and isinstance(target, ast.Attribute) and target.attr == "state"


def _files(frames: Sequence[Frame]) -> list[str]:
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    files = [frame.file for frame in reversed(frames) if frame.whose is Whose.PROGRAM]
    if isinstance(main, str) and whose(main) is Whose.PROGRAM:
        files.append(main)
    return list(dict.fromkeys(files))


def _nodes(file: str, is_meant: Callable[[ast.AST], bool]) -> Iterator[tuple[Any, str]]:
    whole = function_around(file, 1)
    waiting: list[tuple[ast.AST, str]] = [(whole, "")] if whole is not None else []
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}" if function else node.name
        elif is_meant(node):
            yield node, function or "<module>"
        waiting.extend((child, function) for child in ast.iter_child_nodes(node))


def _last_word(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
