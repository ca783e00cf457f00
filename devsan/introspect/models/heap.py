"""All live modules of the process: what a run file tells of them when the program ends."""

from __future__ import annotations

import gc
import sys
from typing import Any

from devsan.introspect.frames.values import dict_in
from devsan.introspect.models.models import Tree, unwrapped


def live_modules(most: int = 64) -> list[Any]:
    """Returns the modules that no other one holds. For a failure see ``reachable`` instead."""
    base = getattr(sys.modules.get("torch.nn"), "Module", None)
    if not isinstance(base, type):
        return []
    found = instances_of(base)
    inside = {id(child) for each in found for child in dict_in(each, "_modules").values()}
    return [each for each in found if id(each) not in inside][:most]


def live_models() -> list[Tree]:
    """Returns the models that are alive and hold tensors, each once, under the most wrappers that it has."""
    found: dict[int, Tree] = {}
    for module in live_modules():
        root, wrappers = unwrapped(module)
        before = found.get(id(root))
        if before is None or len(wrappers) > len(before.wrappers):
            found[id(root)] = Tree(root, "", wrappers)
    return [tree for tree in found.values() if any(tree.tensors())]


def instances_of(base: type) -> list[Any]:
    """Returns all live instances of ``base`` and its subclasses."""
    kinds: set[type] = {base}
    waiting: list[type] = [base]
    while waiting:
        children: list[type] = type.__subclasses__(waiting.pop())
        waiting.extend(child for child in children if child not in kinds)
        kinds.update(children)
    return [each for each in gc.get_objects() if type(each) in kinds]
