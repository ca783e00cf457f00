"""Calls by which a script chooses a GPU by a number that it computes."""

from __future__ import annotations

import ast
from collections.abc import Callable

_CALLS = ("cuda", "device", "set_device", "to")  # take the number of a GPU


def chooses(node: ast.AST, is_it: Callable[[ast.AST], bool]) -> bool:
    """Returns whether ``node`` places something by a number: that of a GPU, "cuda:" and the number, device_ids.

    Args:
        node: of a script's tree.
        is_it: whether an expression is the number.
    """
    if isinstance(node, ast.keyword):
        return node.arg == "device_ids" and any(map(is_it, getattr(node.value, "elts", [node.value])))
    if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") not in _CALLS:
        return False
    texts = [each for each in node.args if isinstance(each, ast.JoinedStr) and "cuda" in ast.unparse(each)]
    parts = [part.value for text in texts for part in text.values if isinstance(part, ast.FormattedValue)]
    named = [keyword.value for keyword in node.keywords if keyword.arg in ("device", "index")]
    return any(is_it(each) for each in (*node.args, *parts, *named))
