"""A source file of the program, as a run saw it: where a finding's expressions stand in it, and edits of it."""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.diagnostics.diagnostic import Edit, Place
from devsan.fix.patch import text_of

_shown: dict[str, str] = {}


@contextlib.contextmanager
def showing(texts: Mapping[str, str]) -> Iterator[None]:
    """Has ``source_of`` show files as a run saw them.

    Args:
        texts: of the files that were changed for it, by path.
    """
    before = dict(_shown)
    _shown.update(texts)
    try:
        yield
    finally:
        _shown.clear()
        _shown.update(before)


def source_of(path: str) -> Source | None:
    """Returns the source file at ``path``; None where it cannot be read."""
    try:
        return _parsed(path, _shown[path] if path in _shown else text_of(path))
    except (OSError, SyntaxError, ValueError):
        return None


@functools.lru_cache(maxsize=64)
def _parsed(path: str, text: str) -> Source:
    return Source(path, text, ast.parse(text))


@dataclass(frozen=True, eq=False)
class Source:
    """A source file and its syntax. Lines and columns count from 1, in characters."""

    path: str
    text: str
    tree: ast.Module

    @functools.cached_property
    def imports_torch(self) -> bool:
        """Returns whether the module itself imports torch under its own name."""
        names = [name for each in self.tree.body if isinstance(each, ast.Import) for name in each.names]
        return any((name.asname or name.name.partition(".")[0]) == "torch" for name in names)

    @functools.cached_property
    def lines(self) -> list[str]:
        """Returns its lines, without their ends."""
        return self.text.split("\n")

    @functools.cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Returns the node around each node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def span(self, node: ast.AST) -> tuple[int, int, int, int]:
        """Returns line, column, end line and end column (exclusive) of ``node``."""
        found: Any = node
        return (found.lineno, self._column(found.lineno, found.col_offset), found.end_lineno,
                self._column(found.end_lineno, found.end_col_offset))  # fmt: skip

    def _column(self, line: int, offset: int) -> int:
        return len(self.lines[line - 1].encode()[:offset].decode(errors="ignore")) + 1

    def segment(self, node: ast.AST) -> str:
        """Returns the text of ``node``."""
        return ast.get_source_segment(self.text, node) or ""

    def lines_of(self, statement: ast.stmt) -> list[str]:
        """Returns the lines of ``statement`` without the indentation at which it stands, as ``insert_before`` takes."""
        indent = self._indent(statement)
        return [each.removeprefix(indent) for each in self.segment(statement).split("\n")]

    def expression_at(self, where: Mapping[str, Any]) -> ast.expr | None:
        """Returns the largest expression with the span of a frame, an event or an operand; None if there is none.

        Of a call of a method that stands on a later line than what it is a method of, Python tells the span from the
        method's name on (``update_start_location_to_match_attr`` of its compiler).
        """
        wanted = tuple(where[key] for key in ("line", "column", "end_line", "end_column"))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.expr) and hasattr(node, "lineno") and wanted in self._spans(node):
                return node
        return None

    def _spans(self, node: ast.expr) -> list[tuple[int, int, int, int]]:
        """The spans that Python may tell of ``node``."""
        whole = self.span(node)
        method = node.func if isinstance(node, ast.Call) else None
        if not isinstance(method, ast.Attribute) or method.end_lineno == whole[0]:
            return [whole]
        _, _, line, behind = self.span(method)
        return [whole, (line, behind - len(method.attr), *whole[2:])]

    def named_at(self, line: int, name: str) -> ast.expr | None:
        """Returns the first expression on ``line`` that reads ``name``; None if there is none."""
        for node in ast.walk(self.tree):
            read = isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
            if isinstance(node, ast.expr) and read and node.lineno == line and self.segment(node) == name:
                return node
        return None

    def statement_around(self, node: ast.AST) -> ast.stmt:
        """Returns the innermost statement that ``node`` is in."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def function_around(self, node: ast.AST) -> ast.AST:
        """Returns the innermost function that ``node`` is in, or the module."""
        while not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
            node = self.parents[node]
        return node

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """Returns the innermost class that ``node`` is in; None outside of classes."""
        found: ast.AST | None = node
        while found is not None and not isinstance(found, ast.ClassDef):
            found = self.parents.get(found)
        return found

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """Returns the statements among which ``statement`` stands."""
        for _, value in ast.iter_fields(self.parents[statement]):
            if isinstance(value, list) and statement in value:
                return value
        return [statement]

    def statement_in(self, node: ast.AST, block: Sequence[ast.stmt]) -> ast.stmt | None:
        """Returns the statement of ``block`` that ``node`` is in, of the same function; None where it is in none."""
        while node not in block:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
                return None
            node = self.parents[node]
        return node if isinstance(node, ast.stmt) else None

    def replace(self, node: ast.AST, after: str) -> Edit:
        """Returns the edit that puts ``after`` in the place of ``node``."""
        line, column, end_line, end_column = self.span(node)
        place = Place(self.path, line, column, end_line, end_column, path=self.path)
        return Edit(place, self.segment(node), after)

    def insert_after(self, statement: ast.stmt, lines: Sequence[str]) -> Edit:
        """Returns the edit that puts whole lines behind ``statement``, as deep as it stands."""
        indent = self._indent(statement)
        last = self.lines[(statement.end_lineno or statement.lineno) - 1]
        line = statement.end_lineno or statement.lineno
        place = Place(self.path, line, len(last) + 1, line, len(last) + 1, path=self.path)
        return Edit(place, "", "".join(f"\n{indent}{each}" if each else "\n" for each in lines))

    def insert_before(self, statement: ast.stmt, lines: Sequence[str]) -> Edit:
        """Returns the edit that puts whole lines before ``statement``, as deep as it stands."""
        first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
        place = Place(self.path, first, 1, first, 1, path=self.path)
        return Edit(place, "", "".join(f"{self._indent(statement)}{each}\n" for each in lines))

    def inside(self, statement: ast.stmt, header: str) -> Edit | None:
        """Returns the edit that puts ``statement`` below ``header``; None where it cannot go deeper as it is."""
        text = self.segment(statement)
        if '"""' in text or isinstance(statement, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
            return None
        first, *others = text.split("\n")
        lines = [f"{self._indent(statement)}    {first}", *(f"    {line}" for line in others)]
        return self.replace(statement, "\n".join([f"{header}:", *lines]))

    @property
    def last_import(self) -> ast.stmt:
        """Returns the last import of the module itself; its first statement where it has none, such as a docstring."""
        body = self.tree.body
        return ([each for each in body if isinstance(each, (ast.Import, ast.ImportFrom))] or body[:1])[-1]

    def remove(self, statement: ast.stmt) -> Edit:
        """Returns the edit that takes ``statement`` away with its lines; where it is the only one, ``pass`` stays."""
        if len(self.block_of(statement)) == 1:
            return self.replace(statement, "pass")
        last = statement.end_lineno or statement.lineno
        lines = self.lines[statement.lineno - 1 : last]
        return Edit(Place(self.path, statement.lineno, 1, last + 1, 1, path=self.path), "\n".join(lines) + "\n", "")

    def _indent(self, statement: ast.stmt) -> str:
        line = self.lines[statement.lineno - 1]
        return line[: len(line) - len(line.lstrip())]
