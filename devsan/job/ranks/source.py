"""What the source says of ranks: where the process group is made, and which lines only some ranks reach."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Collection, Sequence
from typing import Any

from devsan.introspect.source.sources import tree_at

_WORDS = ("rank", "is_main_process", "is_master", "process_index", "global_zero", "process_zero")
_KEEP = frozenset({"int", "bool", "get", "getenv", "get_rank", "get_node_local_rank"})
"""Calls whose result is a rank where they are about one."""

_LEAVES = (ast.Return, ast.Continue, ast.Break)


def rank_condition(file: str, line: int) -> str:
    """Returns the test under which ``line`` stands where it is about ranks: "rank == 0"; "" without one.

    A name that was given a rank counts as one: ``r = int(os.environ["LOCAL_RANK"])``. What stands below
    ``if rank != 0: continue`` depends on the test as well.
    """
    tree = tree_at(file)
    if tree is None:
        return ""
    ranks, found = _names_of_ranks(tree), ""
    for node in ast.walk(tree):
        for block in _blocks(node):
            for number, statement in enumerate(block):
                if not isinstance(statement, (ast.If, ast.While)) or not _is_about(statement.test, ranks):
                    continue
                test = ast.unparse(statement.test)
                leaves = isinstance(statement.body[-1], _LEAVES) and not statement.orelse
                if _is_in(statement.body, line):
                    found = test  # the innermost comes last
                elif _is_in(statement.orelse, line) or (leaves and _is_in(block[number + 1 :], line)):
                    found = f"not ({test})"
    return found


def _names_of_ranks(tree: ast.AST) -> set[str]:
    """The variables that were given a rank, or what follows from one: ``r = dist.get_rank()``, ``main = r == 0``."""
    found: set[str] = set()
    for _ in range(2):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _is_about(node.value, found) and not _reduces(node.value):
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _is_about(node: ast.expr, ranks: Collection[str]) -> bool:
    if "-1" in ast.unparse(node):  # no rank: the program runs without a launcher, which is the same for all
        return False
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return not names.isdisjoint(ranks) or any(word in ast.unparse(node).lower() for word in _WORDS)


def _reduces(node: ast.expr) -> bool:
    """Whether what a value was made with matters no more: a loss of ``DDP(model, device_ids=[rank])``."""
    return any(isinstance(each, ast.Call) and _name(each) not in _KEEP for each in ast.walk(node))


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    blocks = [getattr(node, name, None) for name in ("body", "orelse", "finalbody")]
    return [block for block in blocks if isinstance(block, list) and block]


def _is_in(block: Sequence[ast.stmt], line: int) -> bool:
    return bool(block) and block[0].lineno <= line <= (block[-1].end_lineno or 0)


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
