"""The statement of a move without effect as it would have one: what an edit puts in its place."""

from __future__ import annotations

import ast
from typing import Any

from devsan.introspect.frames.places import place_in
from devsan.introspect.frames.scopes import Spot
from devsan.introspect.source.sources import statements_of


def kept(statement: ast.Expr, spot: Spot) -> str:
    """Returns the statement as it keeps the result of the move that it is; "" where that cannot be written."""
    call: Any = statement.value
    receiver, text = call.func.value, ast.unparse(statement)
    source = place_in(spot.file, spot.function, statement.lineno, statement.end_lineno).source
    if _plain(source) != _plain(text):  # a comment, a second statement: only what is the whole line is changed
        return ""
    if isinstance(receiver, (ast.Attribute, ast.Subscript)):
        return f"{ast.unparse(receiver)} = {source}"
    if is_getattr(receiver):
        return f"setattr({', '.join(ast.unparse(each) for each in receiver.args[:2])}, {source})"
    if not isinstance(receiver, ast.Name):
        return ""
    loop = _loop_over(receiver.id, spot.tree, statement.lineno)
    if loop is None:
        return f"{receiver.id} = {source}"
    holder, key = loop
    attributes = holder.removeprefix("vars(").removesuffix(")").removesuffix(".__dict__")
    if attributes != holder:
        return f"setattr({attributes}, {key}, {source})"
    return f"{holder}[{key}] = {source}" if holder else ""


def sent_to(text: str, call: ast.Call, source: str) -> str:
    """Returns the statement ``source`` with the device that ``call`` names replaced by that of ``text``; or ""."""
    given = target_of(call)
    before = f".to({ast.unparse(given)}" if given is not None else ""
    return source.replace(before, f".to({text}.device") if before and source.count(before) == 1 else ""


def target_of(call: ast.Call) -> ast.expr | None:
    """Returns the argument of a move that says where to; None where it has none."""
    return next(iter([*call.args[:1], *(word.value for word in call.keywords if word.arg == "device")]), None)


def is_getattr(node: ast.AST) -> bool:
    """Returns whether ``node`` reads an attribute by a name that is computed: ``getattr(self, name)``."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and len(node.args) >= 2


def _plain(text: str) -> str:
    return "".join(text.split()).replace("'", '"')


def _loop_over(name: str, tree: ast.AST, line: int) -> tuple[str, str] | None:
    """The container and the key of the loop that gave ``name`` last before ``line``, "" if unknown; None: no loop."""
    found: tuple[str, str] | None = None
    last = 0
    for node in statements_of(tree):
        if isinstance(node, ast.Assign) and any(getattr(each, "id", "") == name for each in node.targets):
            if last < node.lineno < line:
                found, last = None, node.lineno
        elif isinstance(node, (ast.For, ast.AsyncFor)) and last < node.lineno < line:
            names = [each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)]
            if name in names:
                called = node.iter.func if isinstance(node.iter, ast.Call) else None
                items = isinstance(called, ast.Attribute) and called.attr == "items" and len(names) == 2
                found = (ast.unparse(called.value), names[0]) if items else ("", "")  # type: ignore[union-attr]
                last = node.lineno
    return found
