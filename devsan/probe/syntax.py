"""The piece of syntax that an instruction evaluates, from its columns (Python 3.11 and later).

Only the function is parsed: to parse the files of a deep stack whole takes longer than everything else in a report.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from itertools import islice
from types import CodeType


def node_at(code: CodeType, offset: int) -> ast.AST | None:
    """Returns the expression, or else the statement, whose text is exactly that of the instruction; None if none is.

    Args:
        code: of a function or a file.
        offset: of the instruction, in bytes.

    Returns:
        The node, with lines and columns of the file; each node of its tree has its ``parent``.
    """
    if not hasattr(code, "co_positions") or offset < 0:
        return None
    wanted = next(islice(code.co_positions(), offset // 2, None), None)
    tree = _tree_of(code)
    if wanted is None or None in wanted or tree is None:
        return None
    found: ast.AST | None = None
    for node in ast.walk(tree):
        if (
            getattr(node, "lineno", None) == wanted[0]
            and node.end_lineno == wanted[1]  # type: ignore[attr-defined]
            and node.col_offset == wanted[2]  # type: ignore[attr-defined]
            and node.end_col_offset == wanted[3]  # type: ignore[attr-defined]
            and (isinstance(node, ast.expr) or found is None)
        ):
            found = node
    return found


@functools.lru_cache(maxsize=256)
def _tree_of(code: CodeType) -> ast.AST | None:
    lines = linecache.getlines(code.co_filename)
    if not lines:
        return None
    try:
        if code.co_name == "<module>":
            tree: ast.AST = ast.parse("".join(lines))
        else:
            block = inspect.getblock(lines[code.co_firstlineno - 1 :])
            tree = ast.parse("if 1:\n" + "".join(block)) if block[0][:1].isspace() else ast.parse("\n" + "".join(block))
            ast.increment_lineno(tree, code.co_firstlineno - 2)
    except (SyntaxError, ValueError, IndexError):
        return None
    if code.co_name != "<module>" and not _defines(tree, code.co_name):
        return None  # a lambda or a comprehension; or the file is not what runs
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]
    return tree


def _defines(tree: ast.AST, name: str) -> bool:
    body = getattr(tree, "body", [])
    if len(body) == 1 and isinstance(body[0], ast.If):
        body = body[0].body
    return bool(body) and getattr(body[0], "name", None) == name
