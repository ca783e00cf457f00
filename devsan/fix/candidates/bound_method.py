"""A method that a module keeps bound is looked up where it is called: in a replica of DataParallel it is the replica's.

The copies that ``replicate`` makes share the plain attributes of the module, and a bound method leads back to it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import own_attribute
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.source import Source, source_of

_DOUBT = 4


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``getattr(self, self.table[key].__name__)(x)`` for each attribute that keeps methods."""
    if failure.finding["code"] != "DV108" or not any("DataParallel" in "".join(each["wrappers"])
                                                     for each in failure.models):  # fmt: skip
        return
    for path in failure.own_paths:
        source = source_of(path)
        for each in ast.walk(source.tree) if source is not None else ():
            if isinstance(each, ast.ClassDef) and source is not None:
                yield from _looked_up(source, each)


def _looked_up(source: Source, inside: ast.ClassDef) -> Iterator[Change]:
    methods = {each.name for each in inside.body if isinstance(each, ast.FunctionDef)}
    kept = {
        name
        for each in ast.walk(inside)
        if isinstance(each, ast.Assign)
        for name in map(own_attribute, each.targets)
        if name and name not in methods and any(_is_method(node, methods) for node in _values(each.value))
    }
    edits = []
    for call in (each for each in ast.walk(inside) if isinstance(each, ast.Call)):
        table = call.func.value if isinstance(call.func, ast.Subscript) else call.func
        if own_attribute(table) in kept:
            edits.append(source.replace(call.func, f"getattr(self, {source.segment(call.func)}.__name__)"))
    if edits:
        text = message("look up the methods in {names} where they are called",
                       names=", ".join(f"`self.{name}`" for name in sorted(kept)))  # fmt: skip
        yield Change(text, "use_site", tuple(edits), "DV108", _DOUBT)


def _is_method(node: ast.expr, methods: set[str]) -> bool:
    """Whether it is ``self.method``, or what ``getattr(self, name)`` looks up once."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and node.args:
        return getattr(node.args[0], "id", "") == "self"
    return own_attribute(node) in methods


def _values(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Dict):
        return value.values
    return value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
