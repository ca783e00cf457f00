"""One name for the parts of a model that are alike: ``layers.*.mlp`` for the MLP of every layer."""

from __future__ import annotations

from typing import Any

from devsan.introspect.models.models import Tree, members


def alike_names(tree: Tree) -> dict[str, str]:
    """Returns a name for each module of ``tree`` by its path.

    A number becomes a star where a module beside it is of its class, and the module has parts or all beside it are
    alike: a block among others, and not the second Linear of a Sequential with a ReLU. A path of nothing but numbers
    stays as it is, for nothing else would tell its parts apart.
    """
    starred: dict[str, str] = {}
    for path, module in tree.modules.items():
        parent, _, last = path.rpartition(".")
        name = "*" if last.isdecimal() and _is_one_of_many(tree, parent, module) else last
        above = starred.get(parent, parent)
        starred[path] = f"{above}.{name}" if above else name
    return {path: path if path.replace(".", "").isdecimal() else name for path, name in starred.items()}


def _is_one_of_many(tree: Tree, parent: str, module: Any) -> bool:
    children = list(members(tree.modules[parent], "_modules").values()) if parent in tree.modules else []
    alike = sum(type(child) is type(module) for child in children)
    return alike > 1 and (alike == len(children) or bool(members(module, "_modules")))
