"""What the source says of ranks: where the process group is made, and which lines only some ranks reach."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from typing import Any

from devsan.introspect.source.sources import tree_at

_WORDS = ("rank", "is_main_process", "is_master", "process_index", "global_zero", "process_zero")


def rank_condition(file: str, line: int) -> str:
    """Returns the test under which ``line`` stands where it is about ranks: "rank == 0"; "" without one."""
    tree = tree_at(file)
    found = ""
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, (ast.If, ast.While)):
            continue
        for body, negated in ((node.body, False), (node.orelse, True)):
            if body and body[0].lineno <= line <= (body[-1].end_lineno or 0):
                test = ast.unparse(node.test)
                if any(word in test.lower() for word in _WORDS):
                    found = f"not ({test})" if negated else test  # the innermost comes last
    return found


def group_made() -> dict[str, Any] | None:
    """Returns the statement of the main script that makes the process group, as a frame of a run's document.

    Its column is 0 where an edit in front of it could not run: without ``os`` and ``torch`` imported.
    """
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    tree = tree_at(os.path.abspath(file)) if isinstance(file, str) else None
    if tree is None or file is None:
        return None
    names = {
        alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and _name(node.value) == "init_process_group"
        ):
            path = os.path.abspath(file)
            source = "".join(linecache.getlines(path)[node.lineno - 1 : node.end_lineno]).strip()
            column = node.col_offset + 1 if {"os", "torch"} <= names and node.lineno == node.end_lineno else 0
            return {
                "file": file, "path": path, "line": node.lineno, "column": column, "end_line": node.end_lineno,
                "end_column": 0, "function": "", "source": source, "package": "", "module": "",
            }  # fmt: skip
    return None


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
