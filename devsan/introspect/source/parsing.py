"""Source into syntax, also while other threads do the same."""

from __future__ import annotations

import ast
import threading
from typing import Any

_ATTEMPTS = 3
_lock = threading.RLock()


def parse(text: str) -> ast.Module:
    """Returns the syntax of ``text``, as ``ast.parse``.

    CPython up to 3.12.0 counts the depth of the tree that it makes for the interpreter, not for the thread: where two
    threads parse at once both can end in SystemError, "AST constructor recursion depth mismatch" (python/cpython
    issue 106905). DevSan's own threads wait for each other; beside the program's it is tried again.

    Raises:
        SyntaxError: ``text`` is no Python.
        ValueError: it has null bytes.
    """
    tree: ast.Module = _parse(text, "exec")
    return tree


def parse_expression(text: str) -> ast.expr:
    """Returns the syntax of one expression, as ``ast.parse(text, mode="eval").body``. Raises the same as ``parse``."""
    tree: ast.Expression = _parse(text, "eval")
    return tree.body


def _parse(text: str, mode: str) -> Any:
    for _ in range(_ATTEMPTS):
        try:
            with _lock:
                return ast.parse(text, mode=mode)
        except SystemError:
            continue
    raise SyntaxError("the source could not be read beside the program's own threads")
