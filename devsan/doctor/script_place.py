"""The place of a piece of a script's syntax."""

from __future__ import annotations

import ast

from devsan.diagnostics.diagnostic import Place


def place_of(node: ast.expr | ast.stmt | ast.keyword, file: str) -> Place:
    """Returns where ``node`` stands in ``file``; lines and columns are counted from 1."""
    return Place(file, node.lineno, node.col_offset + 1, node.end_lineno or 0, (node.end_col_offset or 0) + 1)
