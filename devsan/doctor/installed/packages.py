"""The packages of an environment, and where the names that they offer are defined."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from devsan.doctor.installed.module import Module, read_module

_DEEPEST = 12
"""Modules that hand a name on."""


@dataclass(frozen=True)
class Definition:
    """A class or a function, and the module that defines it."""

    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    module: Module


def folders_of(package: str) -> Sequence[Path] | None:
    """Returns the folders of a package; none for a module of one file or of C; None where it is not installed."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError, AttributeError):  # of a module that is being replaced
        return ()
    return None if spec is None else [Path(each) for each in spec.submodule_search_locations or ()]


@dataclass(eq=False)
class Installed:
    """The packages.

    Attributes:
        folders: of a package, by its name; None where it is not installed.
    """

    folders: Callable[[str], Sequence[Path] | None] = folders_of
    _read: dict[str, Module | None] = field(default_factory=dict)

    def has(self, package: str) -> bool:
        """Returns whether the package, or a module of that name, is installed."""
        return self.folders(package) is not None

    def module(self, name: str) -> Module | None:
        """Returns the module ``name``; None where there is none, or its source is not there."""
        if name not in self._read:
            first, _, rest = name.partition(".")
            found = None
            for folder in self.folders(first) or ():
                path = folder.joinpath(*rest.split(".")) if rest else folder
                file = path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")
                if file.is_file():
                    found = read_module(name, file)
                    break
            self._read[name] = found
        return self._read[name]

    def lacks_module(self, name: str) -> bool:
        """Returns whether the package is there and surely has no module ``name``, however it is written."""
        first, *rest = name.split(".")
        folders = self.folders(first)
        whole = self.module(first)
        if not folders or whole is None or not rest:
            return False
        here = list(folders)
        for part in rest:
            found = [folder / part for folder in here if (folder / part).is_dir()]
            if not found and not any(any(folder.glob(f"{part}.*")) for folder in here):
                # A package may give a module another name as it is imported.
                return not _says(whole, part)
            here = found
        return False

    def lacks(self, module: str, name: str) -> bool:
        """Returns whether ``module`` is there and surely defines no ``name``."""
        return self._lacks(module, name, _DEEPEST)

    def find(self, module: str, name: str) -> Definition | None:
        """Returns where ``name``, as ``module`` offers it, is defined; None where that is not known."""
        return self._find(module, name, _DEEPEST)

    def _lacks(self, name: str, wanted: str, left: int) -> bool:
        module = self.module(name)
        if module is None or not left or wanted in module.names:
            return False
        if module.is_package and any(module.file.parent.glob(f"{wanted}*")):
            return False
        if module.is_dynamic:
            return _is_lazy(module) and not _is_built(wanted) and not _models_say(module.file.parent, wanted)
        return all(self._lacks(other, wanted, left - 1) for other in module.stars())

    def _find(self, name: str, wanted: str, left: int) -> Definition | None:
        module = self.module(name)
        if module is None or not left:
            return None
        found: list[Definition | None] = []
        for node in module.statements:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == wanted:
                found.append(Definition(node, module))
            elif isinstance(node, ast.ImportFrom):
                found += [self._find(module.absolute(node), alias.name, left - 1)
                          for alias in node.names if (alias.asname or alias.name) == wanted]  # fmt: skip
            elif isinstance(node, ast.Assign) and any(getattr(each, "id", "") == wanted for each in node.targets):
                value = node.value
                same = isinstance(value, ast.Name) and value.id != wanted
                found.append(self._find(name, value.id, left - 1) if same else None)  # type: ignore[attr-defined]
        if not found and _is_lazy(module) and self._lacks(name, wanted, left):
            return None  # which all of its thousands of modules would say as well
        if not found:
            found = [each for other in module.stars() if (each := self._find(other, wanted, left - 1)) is not None]
        places = {(each.module.name, each.node.lineno) if each is not None else None for each in found}
        return found[0] if len(places) == 1 else None


def _is_lazy(module: Module) -> bool:
    """Whether it is the module of transformers, whose names stand in it or in a text of its models."""
    return "define_import_structure" in module.names and "_import_structure" in module.names


def _is_built(name: str) -> bool:
    """Whether transformers gives an old class a new name as it is asked for: XImageProcessorFast is XImageProcessor."""
    return name.endswith("Fast")


def _models_say(folder: Path, name: str) -> bool:
    wanted = (f'"{name}"'.encode(), f"'{name}'".encode())
    for file in (folder / "models").rglob("*.py"):
        try:
            data = file.read_bytes()
        except OSError:
            return True
        if any(each in data for each in wanted):
            return True
    return False


def _says(module: Module, part: str) -> bool:
    return any(part in each.split(".") for each in module.names) or f".{part}" in module.text
