"""One module of an installed package, as its source says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

_DYNAMIC = ("globals", "exec", "setattr", "__getattr__")
_LARGEST = 4 << 20


@dataclass(frozen=True, eq=False)
class Module:
    """A module.

    Attributes:
        name: with its packages, "accelerate.utils".
        file: its source.
        text: of the source.
        tree: the syntax of the source.
    """

    name: str
    file: Path
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Returns whether it may have submodules."""
        return self.file.name == "__init__.py"

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        """The statements that run when it is imported, those of its branches as well."""
        return tuple(_statements(self.tree.body))

    def absolute(self, node: ast.ImportFrom) -> str:
        """Returns the module that ``node``, an import of this module, names."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def stars(self) -> Iterator[str]:
        """Yields the modules of which it takes every name."""
        for node in self.statements:
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                yield self.absolute(node)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name and every text that stands in it: one that it could define in any way is among them."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.alias):
                found.add(node.asname or node.name.partition(".")[0])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
        return frozenset(found)

    @cached_property
    def functions(self) -> dict[str, list[ast.FunctionDef]]:
        """Its functions and methods, by their names."""
        found: dict[str, list[ast.FunctionDef]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append(node)
        return found

    @cached_property
    def texts(self) -> frozenset[str]:
        """Every text that stands in it."""
        constants = (node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant))
        return frozenset(value for value in constants if isinstance(value, str))

    @property
    def is_dynamic(self) -> bool:
        """Returns whether it defines names that its source does not spell."""
        return not self.names.isdisjoint(_DYNAMIC) or "sys.modules[__name__]" in self.text


@lru_cache(maxsize=128)
def read_module(name: str, file: Path) -> Module | None:
    """Returns the module ``name`` of ``file``, read once; None where that is not readable as Python."""
    try:
        if file.stat().st_size > _LARGEST:
            return None
        text = file.read_text(encoding="utf-8")
        return Module(name, file, text, ast.parse(text))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            yield from _statements(node.body)
            yield from _statements(getattr(node, "orelse", []))
            yield from _statements(getattr(node, "finalbody", []))
            for handler in getattr(node, "handlers", []):
                yield from _statements(handler.body)
