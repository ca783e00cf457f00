"""Classes that remember what they made for a key: a table of positions for each length, a mask for each size.

Many of them are called caches, as what generation keeps is. What tells the two apart is how they are filled: a memo
stores an entry only where there is none yet, generation writes to its state at every token.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator
from types import FunctionType

from devsan.introspect.source.sources import nodes_in, tree_of


@functools.lru_cache(maxsize=256)
def is_memo(kind: type) -> bool:
    """Returns whether all that the methods of ``kind`` store by a key is stored where the key is missing.

    Returns False where they store nothing by a key, and for a class whose source is not there.
    """
    functions = [each for each in type.__dict__["__dict__"].__get__(kind).values() if isinstance(each, FunctionType)]
    trees = [tree_of(each.__code__) for each in functions]
    stores = [(tree, store) for tree in trees if tree is not None for store in _stores(tree)]
    return bool(stores) and all(_only_where_missing(tree, store) for tree, store in stores)


def _stores(tree: ast.AST) -> Iterator[ast.expr]:
    """What is written to: by a key, and by a method that changes its object."""
    for node in nodes_in(tree, ast.Subscript, ast.Call):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _changes(node.func.attr):
            yield node.func


def _changes(method: str) -> bool:
    return method in ("append", "extend") or (method.endswith("_") and not method.endswith("__"))


def _only_where_missing(tree: ast.AST, store: ast.expr) -> bool:
    if not isinstance(store, ast.Subscript):
        return False
    held = ast.unparse(store.value)
    found = {name for name, value in _assigned(tree) if _is_look_up(value, held)}
    way = _way_to(tree, store)
    for outer, inner in itertools.pairwise(way):
        if isinstance(outer, ast.If):
            if (_tells(outer.test, held, ast.NotIn) or _compares(outer.test, ast.Is, found)) and inner in outer.body:
                return True
            if _tells(outer.test, held, ast.In) and inner in outer.orelse:
                return True
        if isinstance(outer, ast.ExceptHandler) and getattr(outer.type, "id", "") == "KeyError":
            return True
        if any(_leaves_where_there(each, held, found) for each in _before(outer, inner)):
            return True
    return False


def _way_to(tree: ast.AST, node: ast.AST) -> list[ast.AST]:
    """The nodes from ``tree`` down to ``node``."""
    for child in ast.iter_child_nodes(tree):
        if child is node:
            return [tree, node]
        if way := _way_to(child, node):
            return [tree, *way]
    return []


def _tells(test: ast.expr, held: str, operator: type[ast.cmpop]) -> bool:
    return any(
        isinstance(node, ast.Compare) and isinstance(node.ops[0], operator) and ast.unparse(node.comparators[0]) == held
        for node in ast.walk(test)
    )


def _assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes_in(tree, ast.Assign, ast.NamedExpr):
        if isinstance(node, ast.Assign):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.NamedExpr):
            yield node.target.id, node.value


def _is_look_up(value: ast.expr, held: str) -> bool:
    """``self.tables.get(key)``."""
    method = value.func if isinstance(value, ast.Call) else None
    return isinstance(method, ast.Attribute) and method.attr == "get" and ast.unparse(method.value) == held


def _compares(test: ast.expr, operator: type[ast.cmpop], found: set[str]) -> bool:
    """``found is None``, behind ``found = self.tables.get(key)``."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], operator):
        return False
    left = test.left.target if isinstance(test.left, ast.NamedExpr) else test.left
    return isinstance(left, ast.Name) and left.id in found


def _before(outer: ast.AST, inner: ast.AST) -> list[ast.stmt]:
    body: list[ast.stmt] = next((each for each in _bodies(outer) if inner in each), [])
    return body[: body.index(inner)] if isinstance(inner, ast.stmt) and body else []


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list):
            yield body


def _leaves_where_there(statement: ast.stmt, held: str, found: set[str]) -> bool:
    """``if key in self.tables: return self.tables[key]``."""
    return (
        isinstance(statement, ast.If)
        and (_tells(statement.test, held, ast.In) or _compares(statement.test, ast.IsNot, found))
        and isinstance(statement.body[-1], ast.Return)
    )
