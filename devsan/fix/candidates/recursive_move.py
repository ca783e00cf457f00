"""A helper that moves what is in a container is taught the kinds of containers that it hands back as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, Source, source_of

_DOUBT = 6
_SEQUENCES = ("list", "tuple")


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``isinstance(x, (list, tuple))`` where a function that moves by calling itself knows one of the two."""
    for path in failure.own_paths if failure.is_mixed else ():
        source = source_of(path)
        for function in ast.walk(source.tree) if source is not None else ():
            if source is not None and isinstance(function, ast.FunctionDef) and _moves_by_recursion(function):
                yield from _taught(source, function)


def _moves_by_recursion(function: ast.FunctionDef) -> bool:
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
    again = any(function_name(each) == function.name for each in calls)
    return again and any(moved(each) is not None for each in calls)


def _taught(source: Source, function: ast.FunctionDef) -> Iterator[Change]:
    kinds = [call.args[1] for call in ast.walk(function) if isinstance(call, ast.Call)
             and function_name(call) == "isinstance" and len(call.args) > 1]  # fmt: skip
    known = {each.id for kind in kinds for each in ast.walk(kind) if isinstance(each, ast.Name)}
    missing = [name for name in _SEQUENCES if name not in known]
    for kind in kinds if len(missing) == 1 else ():
        if isinstance(kind, ast.Name) and kind.id in _SEQUENCES:
            text = message("have `{function}` move what is in a {kind}, too", function=function.name, kind=missing[0])
            edit = source.replace(kind, f"({', '.join(_SEQUENCES)})")
            yield Change(text, "creation_site", (edit,), doubt=_DOUBT)
