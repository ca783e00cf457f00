"""Whether a tensor can be asked for its device where another one is created."""

from __future__ import annotations

import ast

from devsan.doctor.source.frames import required_parameters
from devsan.doctor.source.source_file import SourceFile


def can_be_asked(source: SourceFile, asked: ast.AST, made: ast.AST | None) -> bool:
    """Returns whether ``asked`` certainly has its value at ``made``, and to ask for its device calls nothing.

    Args:
        source: the file that both are in.
        asked: an expression, as it stands where the two tensors meet.
        made: the expression that creates the other tensor.
    """
    if made is None or any(isinstance(each, ast.Call) for each in ast.walk(asked)):
        return False
    names = {each.id for each in ast.walk(asked) if isinstance(each, ast.Name)}
    around = source.function(made)
    if not names or around is not source.function(asked):
        return False
    scope = source.tree if around is None else around
    return all(_is_bound_once_before(source, scope, name, made) for name in names)


def _is_bound_once_before(source: SourceFile, scope: ast.AST, name: str, made: ast.AST) -> bool:
    """A parameter that keeps its value, or a name whose one assignment stands before, in a block around ``made``."""
    if name in _parameters(scope):
        return name in required_parameters(scope)
    stores = [each for each in ast.walk(scope) if isinstance(each, ast.Name) and each.id == name
              and isinstance(each.ctx, ast.Store)]  # fmt: skip
    stored = source.statement(stores[0]) if len(stores) == 1 else None
    if stored is None or (stored.end_lineno or 0) >= getattr(made, "lineno", 0):
        return False
    return next(source.parents(stored), None) in list(source.parents(made))


def _parameters(scope: ast.AST) -> set[str]:
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    return {each.arg for each in ast.walk(scope.args) if isinstance(each, ast.arg)}
