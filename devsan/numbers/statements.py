"""What expressions of the main program's own statements evaluate to: ``model(batch)`` with its result left alone.

A script that is only to show something computes values that nothing keeps. At Python's prompt they would be printed
(``sys.displayhook``); here they are observed as outputs. A compiled line keeps its place, so that tracebacks do not
change.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import CodeType
from typing import Any

from devsan.diagnostics.torch_names import MOVES

NAME = "__devsan_observe__"
PASSING = "__devsan_passing__"
"""Name of a set: the variables of loops, which are no results."""


def compiled(text: bytes | str, path: str, namespace: dict[str, Any], observe: Callable[[Any], None]) -> CodeType:
    """Returns the code of a script whose expression statements give their values to ``observe``.

    Args:
        text: of the script.
        path: its name in tracebacks.
        namespace: of the module that will run it; it gets the name that the code calls.
        observe: takes each value; it must not raise.

    Raises:
        SyntaxError: as ``compile`` does.
    """
    tree = ast.parse(text, path)
    for statement in _statements(tree.body):
        if not isinstance(statement.value, (ast.Constant, ast.Await, ast.Yield, ast.YieldFrom)) and not _is_move(
            statement.value
        ):
            function = ast.copy_location(ast.Name(NAME, ast.Load()), statement.value)
            statement.value = ast.copy_location(ast.Call(function, [statement.value], []), statement.value)
    namespace[NAME] = observe
    namespace[PASSING] = _loop_variables(tree)
    return compile(tree, path, "exec", dont_inherit=True)


def _loop_variables(tree: ast.Module) -> frozenset[str]:
    """The names that loops alone give a value to, in their heads or in their bodies."""
    inside: set[ast.Name] = set()
    for loop in ast.walk(tree):
        if isinstance(loop, ast.For):
            own = {name.id for name in _stored(loop.target)}
            inside |= {name for name in _stored(loop) if name.id in own}
    return frozenset(name.id for name in inside) - {name.id for name in _stored(tree) if name not in inside}


def _stored(tree: ast.AST) -> list[ast.Name]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _is_move(value: ast.expr) -> bool:
    """Whether it is ``x.to(device)``: the result that is thrown away there is what a fix keeps."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in MOVES


def _statements(body: list[ast.stmt]) -> list[ast.Expr]:
    """The expression statements of the module itself, those of its loops and branches too."""
    found: list[ast.Expr] = []
    for statement in body:
        if isinstance(statement, ast.Expr):
            found.append(statement)
        elif isinstance(statement, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
            for name in ("body", "orelse", "finalbody"):
                found += _statements(getattr(statement, name, []))
            for handler in getattr(statement, "handlers", []):
                found += _statements(handler.body)
    return found
