"""The program's call that told FSDP to leave parameters alone: it neither shards them nor moves them to the GPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from devsan import core
from devsan.introspect.frames.only_calls import program_files
from devsan.introspect.frames.places import place_in
from devsan.introspect.frames.scopes import Spot
from devsan.introspect.models.models import Tree
from devsan.introspect.source.sources import functions_in, statements_of, tree_at

# Of fully_shard (torch/distributed/fsdp/_fully_shard/_fully_shard.py), and of FullyShardedDataParallel.
_ARGUMENTS = frozenset({"ignored_params", "ignored_states", "ignored_modules"})


def ignored_at(tree: Tree, near: Spot) -> core.Frame | None:
    """Returns where the program first gives one of these arguments; None where no FSDP has the model.

    Args:
        tree: the model.
        near: a spot in the file that is searched first.
    """
    if not is_sharded(tree):
        return None
    for file, _ in program_files(near):
        whole = tree_at(file)
        for function, body in [("<module>", whole), *functions_in(whole)] if whole is not None else ():
            said = sorted(_says(body), key=lambda node: (node.lineno, node.col_offset))
            if said:
                node = said[0]
                return place_in(file, function, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
    return None


def is_sharded(tree: Tree) -> bool:
    """Returns whether FSDP has the model, or a part of it.

    fully_shard gives a module a class of its own: "FSDP" and the name of its class.
    """
    names = (type(module).__name__ for module in tree.modules.values())
    return "FSDP" in tree.wrappers or any(name.startswith(("FSDP", "FullyShardedDataParallel")) for name in names)


def _says(function: ast.AST) -> Iterator[Any]:
    """Yields the calls that give one of these arguments, and the dictionaries that hold one for a call."""
    for node in statements_of(function):
        if isinstance(node, ast.Call):
            given = [(each.arg, each.value) for each in node.keywords]
        elif isinstance(node, ast.Dict):
            given = [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values, strict=True)]
        else:
            continue
        if any(name in _ARGUMENTS and getattr(value, "value", value) is not None for name, value in given):
            yield node
