"""The only call of a function that has returned, the only store to an attribute: the source says who gave what.

NOTE [Only calls] A name is looked for in the program's own files, or in the one of a library that it stands in. Two
calls of the same name, whosever they are, decide nothing.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterator, Sequence

from devsan.introspect.frames.places import package_of
from devsan.introspect.frames.scopes import Spot
from devsan.introspect.source.sources import bindings_in, functions_in, statements_of, tree_at

_MOST_FILES = 64


def only_call(function: Spot) -> tuple[ast.Call, Spot] | None:
    """Returns the only call of ``function``, of its class where it is a constructor, and where it stands; or None."""
    owner, _, name = function.function.rpartition(".")
    return only_call_of(owner.rpartition(".")[2] if name == "__init__" else name, function)


def given_at_only_call(function: Spot, parameter: str) -> tuple[ast.expr, Spot] | None:
    """Returns what ``parameter`` is given at the only call of ``function``, and where that stands; or None."""
    found = only_call(function)
    arguments = getattr(function.tree, "args", None)
    if found is None or not isinstance(arguments, ast.arguments):
        return None
    names = [each.arg for each in [*arguments.posonlyargs, *arguments.args]]
    return _given(found, names[1:] if names[:1] in (["self"], ["cls"]) else names, parameter)


def field_at_only_call(kind: type, field: str, near: Spot) -> tuple[ast.expr, Spot] | None:
    """Returns what the only call of a dataclass gives for one of its fields, and where that stands; or None.

    Args:
        kind: a class; one that is no dataclass has none.
        field: its name.
        near: a spot in the file that is searched first.
    """
    if not dataclasses.is_dataclass(kind):
        return None
    names = [each.name for each in dataclasses.fields(kind) if each.init]
    found = only_call_of(kind.__name__, near) if field in names else None
    return _given(found, names, field) if found is not None else None


def _given(found: tuple[ast.Call, Spot], names: Sequence[str], parameter: str) -> tuple[ast.expr, Spot] | None:
    call, spot = found
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    given = dict(zip(names, call.args, strict=False)) | {each.arg: each.value for each in call.keywords if each.arg}
    return (given[parameter], spot) if parameter in given else None


def only_call_of(name: str, near: Spot) -> tuple[ast.Call, Spot] | None:
    """Returns the only call of what is called ``name``, and where it stands; or None.

    Args:
        name: the last word of a function or class.
        near: a spot in the file that is searched first.
    """
    found: tuple[ast.Call, Spot] | None = None
    for file, variables in program_files(near):
        whole = tree_at(file)
        for function, tree in [("<module>", whole), *functions_in(whole)] if whole is not None else ():
            for node in statements_of(tree):
                if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == name:
                    if found is not None:
                        return None
                    found = node, Spot(file, function, tree, node.lineno + 1, globals=variables)
    return found


def program_files(near: Spot) -> Iterator[tuple[str, object]]:
    """Yields the file of a spot, then, for one of the program's, its others, each with its variables."""
    yield near.file, near.globals
    if package_of(near.file):
        return
    left = _MOST_FILES
    for module in list(sys.modules.values()):
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str) and file != near.file and left and not package_of(file):
            left -= 1
            yield file, module.__dict__


def only_store(attribute: str, spot: Spot) -> tuple[ast.expr, Spot] | None:
    """Returns what the file's only statement that gives an object ``attribute`` gives it: ``trainer.weights = ...``."""
    whole = tree_at(spot.file)
    found = [
        (value, Spot(spot.file, function, tree, value.lineno, globals=spot.globals))
        for function, tree in (functions_in(whole) if whole is not None else ())
        for _, target, value, is_element in bindings_in(tree)
        if target.endswith(f".{attribute}") and not is_element and not isinstance(value, ast.Constant)
    ]
    return found[0] if len(found) == 1 else None
