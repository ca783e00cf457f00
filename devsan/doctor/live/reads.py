"""How the methods of a module read one of its own tensors: whether they bring it along, or never look at it."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from devsan.introspect.source.sources import tree_of

if TYPE_CHECKING:
    from devsan.doctor.live.subject import Held

_BRINGS = frozenset({"to", "cuda", "type_as", "cpu"})


def is_brought_along(module: object, held: Held) -> bool:
    """Returns whether the module's methods move ``held`` wherever they compute with it, or none of them reads it.

    transformers' rotary embeddings do: ``self.inv_freq[None, :, None].float().expand(...).to(x.device)``.
    """
    kind: Any = type(module)
    return not kind.__module__.startswith("torch.") and all(_reads(kind, held.name))


def moves_things(module: object) -> bool:
    """Returns whether the methods of a module move something between devices themselves."""
    kind: Any = type(module)
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda", "cpu")
        for tree in _methods(kind)
        for node in ast.walk(tree)
    )


@lru_cache(maxsize=256)
def _reads(kind: type, name: str) -> tuple[bool, ...]:
    """For each expression in a method of ``kind`` that reads ``self.<name>``: whether it moves what it read."""
    found = []
    for tree in _methods(kind):
        above = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            if _is_own(node, name) and isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                found.append(_is_moved(node, above))
    return tuple(found)


def _is_own(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )  # fmt: skip


def _is_moved(node: ast.AST, above: dict[int, ast.AST]) -> bool:
    """Whether a chain of selections and methods on ``node`` moves it, or asks it for something that is no tensor."""
    while (around := above.get(id(node))) is not None:
        if isinstance(around, ast.Attribute):
            if around.attr in _BRINGS or around.attr in ("device", "dtype", "shape", "size", "dim", "numel", "item"):
                return True
        elif not (
            (isinstance(around, ast.Call) and around.func is node)
            or (isinstance(around, ast.Subscript) and around.value is node)
        ):
            return False
        node = around
    return False


@lru_cache(maxsize=256)
def _methods(kind: type) -> tuple[ast.AST, ...]:
    """The syntax of the methods that classes outside of torch give to ``kind``, but for constructors."""
    return tuple(_trees(kind))


def _trees(kind: type) -> Iterator[ast.AST]:
    seen: set[str] = set()
    for base in kind.__mro__:
        if base.__module__.startswith("torch."):
            break
        for name, function in list(base.__dict__.items()):
            if isinstance(function, types.FunctionType) and name != "__init__" and name not in seen:
                seen.add(name)
                tree = tree_of(getattr(function, "__wrapped__", function).__code__)
                if tree is not None:
                    yield tree
