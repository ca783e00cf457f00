"""What a script takes from modules: the names by which it calls it, and what it needs to start."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from devsan.diagnostics.diagnostic import Place
from devsan.doctor.script_place import place_of


@dataclass(frozen=True)
class Import:
    """A module, or a name of it, without which the script stops as it starts.

    Attributes:
        module: "transformers.trainer".
        name: "Trainer"; "" where the module itself is imported.
        place: where it stands.
    """

    module: str
    name: str
    place: Place


@dataclass(frozen=True)
class Imports:
    """The imports of a script.

    Attributes:
        names: the script's own names of what it imports, each with what it is: "tf" is "transformers".
        packages: what it imports anywhere, by the first name.
        needed: what it imports whatever happens.
        finds_more: it changes ``sys.path``, so modules may lie where nobody knows.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    packages: frozenset[str] = frozenset()
    needed: tuple[Import, ...] = ()
    finds_more: bool = False

    def whole(self, name: str) -> str:
        """Returns the full name of what the script calls ``name``; "" where it did not import it."""
        first, _, rest = name.partition(".")
        module = self.names.get(first, "")
        return f"{module}.{rest}" if module and rest else module


def read_imports(tree: ast.Module, file: str) -> Imports:
    """Returns the imports of ``tree``. A name that the script gives to something else as well is not among them."""
    taken: list[tuple[str, str]] = []
    own: set[str] = set()
    packages: set[str] = set()
    finds_more = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                packages.add(first)
                taken.append((alias.asname or first, alias.name if alias.asname else first))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            packages.add(node.module.partition(".")[0])
            taken += [(alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            own.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            own.add(node.id)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Attribute):
            finds_more |= node.attr == "path" and getattr(node.value, "id", "") == "sys"
    names = dict(taken)
    own.update(name for name, whole in taken if names[name] != whole)  # by release: one of them is not there
    known = {name: whole for name, whole in names.items() if name not in own}
    return Imports(known, frozenset(packages), tuple(_needed(tree.body, file)), finds_more)


def _needed(body: list[ast.stmt], file: str) -> Iterator[Import]:
    for node in body:
        place = place_of(node, file)
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, "", place) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (Import(node.module, alias.name, place) for alias in node.names)
