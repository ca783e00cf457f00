"""Whether a proposed line could run: the names that it asks for their device must be there by then."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from devsan import core
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.scopes import class_of, spot_of
from devsan.introspect.source.sources import bindings_in, nodes_in, tree_at

_ASKED = re.compile(r"([^\W\d]\w*)(?:\.\w+|\[[^\]]*\])*\.device\b")
_MOVED = re.compile(r"(?<![\w.])(self\.\w+)\.to\(")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_OWN_NAMES = (*_SCOPES, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def can_run(file: str, line: int, before: str, after: str) -> bool:
    """Returns whether every ``name.device`` that ``after`` has and ``before`` has not is bound where it would run.

    Args:
        file: as Python names it.
        line: that the change begins at.
        before: the text as it is.
        after: the text as proposed.
    """
    asked = {match[1] for match in _ASKED.finditer(after) if match[0] not in before}
    if not asked:
        return True
    tree = tree_at(file)
    if tree is None:
        return False
    scopes = [tree, *_around(tree, line)]
    return all(_is_bound(scopes, name, line) for name in asked)


def knows(frames: Sequence[Frame], edit: core.Edit) -> bool:
    """Returns whether every ``name.device`` that ``edit`` asks for stands in its line already, or is a variable there.

    Args:
        frames: of the traceback: the edit's line is that of one of them.
        edit: the core's Edit.
    """
    asked = {match[1] for match in _ASKED.finditer(edit.after) if match[0] not in edit.before}
    asked = {name for name in asked if not re.search(rf"(?<![.\w]){name}\b", edit.before)}
    for frame in frames if asked else ():
        if frame.file == edit.file and edit.line <= frame.line <= edit.line + edit.before.count("\n"):
            return all(name in frame.scope.locals or name in frame.scope.globals for name in asked)
    return not asked


def moves_none(frames: Sequence[Frame], edit: core.Edit) -> bool:
    """Returns whether ``edit`` moves an attribute of ``self`` that its class sets to None as well, and nothing asks.

    Args:
        frames: of the traceback: the edit's line is that of one of them.
        edit: the core's Edit.
    """
    moved = {match[1] for match in _MOVED.finditer(edit.after) if match[0] not in edit.before}
    for number, frame in enumerate(frames if moved else ()):
        if frame.file == edit.file and edit.line <= frame.line <= edit.line + edit.before.count("\n"):
            spot = spot_of(frames, number)
            asked = [ast.unparse(node.test) for node in nodes_in(spot.tree, ast.If, ast.IfExp)]
            unasked = [name for name in moved if not any(name in test for test in asked)]
            own = ast.Name("self", ast.Load())
            return any(_sets_none(method.tree, name) for name in unasked for method in class_of(own, spot))
    return False


def _sets_none(tree: ast.AST, name: str) -> bool:
    return any(target == name and isinstance(value, ast.Constant) and value.value is None
               for _, target, value, _ in bindings_in(tree))  # fmt: skip


def _around(tree: ast.AST, line: int) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that ``line`` is in, the outermost first."""
    functions = nodes_in(tree, ast.FunctionDef, ast.AsyncFunctionDef)
    around = [node for node in functions if node.body[0].lineno <= line <= (node.end_lineno or 0)]
    return sorted(around, key=lambda node: node.lineno)


def _is_bound(scopes: Sequence[ast.AST], name: str, line: int) -> bool:
    """The innermost scope must bind it above the line; one further out has run by the time of the call."""
    for number, scope in enumerate(reversed(scopes)):
        lines = [bound for each, bound in _bindings(scope) if each == name]
        if lines:
            return number > 0 or min(lines) < line
    return False


def _bindings(scope: ast.AST) -> Iterator[tuple[str, int]]:
    """Yields the names that ``scope`` itself binds, each with its line."""
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        given = scope.args
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if argument is not None:
                yield argument.arg, 0
    waiting = list(getattr(scope, "body", ()))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).split(".")[0], node.lineno
        if not isinstance(node, _OWN_NAMES):
            waiting.extend(ast.iter_child_nodes(node))
