"""A function that is made in a loop keeps the device of its own turn, and not that of the last one.

Python looks up the names of a function when it is called; a default is evaluated when the function is made
(https://docs.python.org/3/faq/programming.html#why-do-lambdas-defined-in-a-loop-with-different-values-all-return-the-same-result).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from devsan.diagnostics.diagnostic import Edit, Place
from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure, placing_frames
from devsan.fix.scope import names_stored
from devsan.fix.source import Source, source_of

_DOUBT = 4

_Function = ast.Lambda | ast.FunctionDef


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the functions that placed an operand, with what changes in each turn bound as a default."""
    for operand, _ in failure.pairs() if failure.is_mixed else ():
        for frame in placing_frames(operand):
            source = source_of(frame["path"])
            node = source.expression_at(frame) if source is not None else None
            function = source.function_around(node) if source is not None and node is not None else None
            if source is not None and isinstance(function, (ast.Lambda, ast.FunctionDef)):
                for name in sorted(_late(source, function)):
                    text = message("bind `{name}` when the function is made, not when it is called", name=name)
                    yield Change(text, "creation_site", (_bound(source, function, name),), doubt=_DOUBT)


def _late(source: Source, function: _Function) -> set[str]:
    """The names that ``function`` reads and that the loops around it change."""
    changing: set[str] = set()
    around = source.parents.get(function)
    while around is not None and not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        if isinstance(around, (ast.For, ast.While)):
            changing |= names_stored(around)
        elif isinstance(around, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            changing |= {name for made in around.generators for name in names_stored(made.target)}
        around = source.parents.get(around)
    body = function.body if isinstance(function.body, list) else [function.body]
    read = {each.id for part in body for each in ast.walk(part) if isinstance(each, ast.Name)}
    own = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    own |= {name for part in body for name in names_stored(part)}
    return (read & changing) - own


def _bound(source: Source, function: _Function, name: str) -> Edit:
    """The edit that gives ``function`` the default ``name=name``."""
    given = copy.deepcopy(function.args)
    value = ast.Name(name, ast.Load())
    if given.vararg is not None or given.kwonlyargs:
        given.kwonlyargs.append(ast.arg(name))
        given.kw_defaults.append(value)
    else:
        given.args.append(ast.arg(name))
        given.defaults.append(value)
    listed = ast.unparse(given)
    if isinstance(function, ast.Lambda):
        return source.replace(function, f"lambda {listed}: {source.segment(function.body)}")
    text = source.segment(function)
    begin = text.index("(", text.index(function.name, len("def")))
    end = next(
        end for end in range(begin + 1, len(text) + 1) if text[begin:end].count("(") == text[begin:end].count(")")
    )
    line, column, _, _ = source.span(function)
    place = Place(source.path, line, column + begin, line, column + end, path=source.path)
    return Edit(place, text[begin:end], f"({listed})")
