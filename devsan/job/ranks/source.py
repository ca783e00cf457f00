"""What the source says of ranks: where the process group is made, and which lines only some ranks reach."""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
from collections.abc import Collection, Sequence
from typing import Any

from devsan.introspect.source.sources import statements_of, tree_at

_WORDS = ("rank", "is_main_process", "is_master", "process_index", "global_zero", "process_zero")
_RANK = re.compile(r"(global_|local_|node_|world_|data_parallel_|dp_|tp_|pp_)?rank", re.IGNORECASE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEAVES = (ast.Return, ast.Continue, ast.Break)


def rank_condition(file: str, line: int) -> str:
    """Returns the test under which ``line`` stands where it is about ranks: "rank == 0"; "" without one.

    A variable that its function, or the file itself, gave a rank counts as one: ``r = int(os.environ["LOCAL_RANK"])``.
    What stands below ``if rank != 0: continue`` depends on the test as well.
    """
    tree = tree_at(file)
    if tree is None:
        return ""
    ranks, found = _names_of_ranks(tree, line), ""
    for node in ast.walk(tree):
        for block in _blocks(node):
            for number, statement in enumerate(block):
                if not isinstance(statement, (ast.If, ast.While)) or not _is_about(statement.test, ranks):
                    continue
                test = ast.unparse(statement.test)
                leaves = isinstance(statement, ast.If) and isinstance(statement.body[-1], _LEAVES)
                if _is_in(statement.body, line):
                    found = test  # the innermost comes last
                elif _is_in(statement.orelse or (block[number + 1 :] if leaves else []), line):
                    found = f"not ({test})"
    return found


def _names_of_ranks(tree: ast.AST, line: int) -> set[str]:
    """The variables at ``line`` that were given a rank, or a test of one: ``r = get_rank()``, ``main = r == 0``."""
    around = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS) and _is_in(node.body, line)]
    given = [node for scope in (tree, *around) for node in statements_of(scope) if isinstance(node, ast.Assign)]
    found: set[str] = set()
    for _ in range(2):
        for node in given:
            if _is_rank(node.value, found) or (isinstance(node.value, ast.Compare) and _is_about(node.value, found)):
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _is_rank(node: ast.expr, ranks: Collection[str]) -> bool:
    """Whether it is a rank and nothing else: a name, ``get_rank()``, ``os.environ["RANK"]``, ``int`` of one."""
    if isinstance(node, ast.Name):
        return node.id in ranks or _RANK.fullmatch(node.id) is not None
    if isinstance(node, ast.Attribute):
        return _RANK.fullmatch(node.attr) is not None
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and _RANK.fullmatch(str(node.slice.value)) is not None
    if not isinstance(node, ast.Call):
        return False
    if _name(node) == "int" and len(node.args) == 1:
        return _is_rank(node.args[0], ranks)
    if _name(node) in ("get", "getenv") and node.args and isinstance(node.args[0], ast.Constant):
        return _RANK.fullmatch(str(node.args[0].value)) is not None
    return _name(node) in ("get_rank", "get_node_local_rank")


def _is_about(node: ast.expr, ranks: Collection[str]) -> bool:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        # Whether there is a launcher at all is the same for all ranks: rank == -1, "RANK" in os.environ, rank is None.
        other = ast.unparse(node.comparators[0])
        if other in ("-1", "None") or (isinstance(node.ops[0], (ast.In, ast.NotIn)) and "environ" in other):
            return False
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return not names.isdisjoint(ranks) or any(word in ast.unparse(node).lower() for word in _WORDS)


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
