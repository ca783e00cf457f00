"""A failure as candidates see it: the finding of a run file, and the source around its places."""

from __future__ import annotations

import ast
import contextlib
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from devsan.diagnostics.diagnostic import Edit, Place
from devsan.fix.patch import text_of
from devsan.installed import is_library


@dataclass(frozen=True)
class Failure:
    """One finding of a run.

    Attributes:
        finding: as docs/reference/run.schema.json has it.
        models: of the program at that time, likewise, the largest first.
        others: the findings at other places, which the same run showed.
        texts: of the files that were changed for this run, by path.
    """

    finding: Mapping[str, Any]
    models: Sequence[Mapping[str, Any]] = ()
    others: Sequence[Mapping[str, Any]] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def operands(self) -> Sequence[Mapping[str, Any]]:
        """Returns the operands of the failing operation."""
        return list(self.finding["operands"])

    @property
    def own_frames(self) -> list[Mapping[str, Any]]:
        """Returns the frames of the user's own files, the innermost first."""
        return [frame for frame in self.finding["stack"] if is_own(frame["path"])]

    @property
    def own_paths(self) -> list[str]:
        """Returns the user's own files on the way to the failure, then those that placed its operands and the models,
        each once."""
        placing = [frame for operand in self.operands for frame in placing_frames(operand)]
        events = [event for model in self.models for event in model["placements"]]
        moving = [frame for event in events for frame in event["frames"] if is_own(frame["path"])]
        return list(dict.fromkeys(frame["path"] for frame in (*self.own_frames, *placing, *moving)))

    @functools.cached_property
    def module_moves(self) -> set[tuple[str, int]]:
        """Returns the lines of the user's that moved a module, which it does in place, by path and number."""
        events = [event for each in (*self.models, *self.operands)
                  for event in each.get("placements", each.get("provenance"))]  # fmt: skip
        moves = [[frame for frame in event["frames"] if is_own(frame["path"])]
                 for event in events if event.get("op") == "Module.to"]  # fmt: skip
        return {(frames[0]["path"], frames[0]["line"]) for frames in moves if frames}

    @property
    def library_frames(self) -> list[Mapping[str, Any]]:
        """Returns the frames of libraries under the user's own, the innermost first; not torch's, not accelerate's."""
        found = []
        for frame in self.finding["stack"]:
            if is_own(frame["path"]):
                break
            if frame["package"] not in ("torch", "accelerate", "") and os.path.isfile(frame["path"]):
                found.append(frame)
        return found

    @property
    def in_library(self) -> bool:
        """Returns whether a library's code failed, and no file of the user's."""
        return bool(self.library_frames)

    @property
    def has_two_owners(self) -> bool:
        """Returns whether the cause is that two owners place one model: the line that fails is the victim."""
        return str(self.finding["code"]).startswith("DV2")

    @property
    def is_mixed(self) -> bool:
        """Returns whether tensors on several devices met, so that one of them may go to another."""
        return self.finding["kind"] in ("mixed", "index", "placement", "gradient")

    def is_written(self, operand: Mapping[str, Any]) -> bool:
        """Returns whether the operation writes into ``operand``: a copy of it on another device would be lost."""
        in_place = str(self.finding["op"]).partition(".")[0].endswith("_") and operand["role"] == "self"
        return bool(in_place or operand["role"] == "out")

    def is_live(self, frame: Mapping[str, Any]) -> bool:
        """Returns whether the call of ``frame`` has not returned: what it returns cannot be at fault."""
        return any(_span(frame) == _span(live) for live in self.finding["stack"])

    def pairs(self) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Yields what may be moved with where it may go: operands on different devices; the offending one first.

        Of the weights that a module has on one device, the largest stands for all: an LSTM has eight.
        """
        found = [
            (one, other)
            for one in self.operands
            for other in self.operands
            if one is not other and one["device"] != other["device"] and "meta" not in (one["device"], other["device"])
        ]
        found.sort(key=lambda pair: (not pair[0]["offending"], _size(pair[0]), -_size(pair[1])))
        first = {(id(one), _stands_for(other)): other for one, other in reversed(found)}
        return ((one, other) for one, other in found if first[id(one), _stands_for(other)] is other)


def is_weight(operand: Mapping[str, Any]) -> bool:
    """Returns whether ``operand`` is a parameter or a buffer of a module; what stands for a device alone is none."""
    return operand.get("kind") in ("parameter", "buffer")


def _stands_for(operand: Mapping[str, Any]) -> object:
    """What is asked where ``operand`` is: the module of a weight, on that device; else the operand itself."""
    module = str(operand["name"] or "").rpartition(".")[0]
    return (module, operand["device"]) if is_weight(operand) and module else id(operand)


def placing_frames(operand: Mapping[str, Any], kind: str = "") -> Iterator[Mapping[str, Any]]:
    """Yields the user's own frames among those that placed ``operand``; of events of that ``kind`` alone, if given."""
    for event in operand["provenance"]:
        if kind in ("", event["kind"]):
            yield from (frame for frame in event["frames"] if is_own(frame["path"]))


def _span(frame: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(frame[key] for key in ("path", "function", "line", "column", "end_line", "end_column"))


def _size(operand: Mapping[str, Any]) -> int:
    elements = 1
    for extent in operand["shape"] or ():  # a generator has none
        elements *= extent
    return elements


def is_own(path: str) -> bool:
    """Returns whether ``path`` is a file of the user's and no library's."""
    return path.endswith(".py") and os.path.isfile(path) and not is_library(path)


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
