"""A Python file that is checked: its text, its tree, and where a node stands in it."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from pathlib import Path

from devsan.diagnostics.diagnostic import Place

LARGEST = 4 << 20  # bytes; a larger file is generated, or no source


class Unreadable(Exception):
    """A file cannot be checked; the text is one sentence that says why."""


class Unwritten(ast.expr):
    """An expression that nobody has written, but which happens: the second layer of a Sequential, and what it is given.

    It stands where what is written stands.
    """

    text: str = ""


def unwritten(node: ast.AST, text: str) -> Unwritten:
    """Returns the expression ``text``, which happens inside of ``node``."""
    made = Unwritten()
    made.text = text
    return ast.copy_location(made, node)


class SourceFile:
    """One file.

    Attributes:
        name: as it was named.
        text: its whole text.
        tree: its syntax tree.
    """

    def __init__(self, name: str, text: str) -> None:
        """Parses ``text``.

        Raises:
            Unreadable: it is not Python.
        """
        self.name = name
        self.text = text
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # invalid escapes and the like are the program's own business
                self.tree = ast.parse(text)
        except SyntaxError as error:
            raise Unreadable(f"{name}:{error.lineno or 1}: expected Python source, got: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise Unreadable(f"{name}: expected Python source, got: {error or type(error).__name__}") from None
        self._lines = _split(text)
        self._parents: dict[ast.AST, ast.AST] | None = None

    def place(self, node: ast.AST) -> Place:
        """Returns where ``node`` stands."""
        line, end_line = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if not line:
            return Place(self.name)
        start = self._column(line, node.col_offset)  # type: ignore[attr-defined]
        end = self._column(end_line, node.end_col_offset)  # type: ignore[attr-defined]
        return Place(self.name, line, start + 1, end_line, end + 1)

    def segment(self, node: ast.AST) -> str:
        """Returns the text of ``node``, with its line breaks."""
        return self.between(self.place(node))

    def between(self, place: Place) -> str:
        """Returns the text of a place."""
        if not place.line:
            return ""
        lines = self._lines[place.line - 1 : place.end_line]
        if len(lines) == 1:
            return lines[0][place.column - 1 : place.end_column - 1]
        return "".join([lines[0][place.column - 1 :], *lines[1:-1], lines[-1][: place.end_column - 1]])

    def shown(self, node: ast.AST, longest: int = 60) -> str:
        """Returns the text of ``node`` on one line, cut where it is long."""
        text = node.text if isinstance(node, Unwritten) else " ".join(self.segment(node).split())
        return text if len(text) <= longest else text[: longest - 3].rstrip() + "..."

    def line(self, number: int) -> str:
        """Returns a line, without its end; "" where there is none."""
        return self._lines[number - 1].rstrip("\r\n") if 0 < number <= len(self._lines) else ""

    def ending(self, number: int) -> str:
        """Returns how a line ends; "" for the last one of a file without a final line break."""
        text = self._lines[number - 1] if 0 < number <= len(self._lines) else ""
        return text[len(text.rstrip("\r\n")) :]

    def parents(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yields what ``node`` stands in, the innermost first."""
        if self._parents is None:
            self._parents = {child: each for each in ast.walk(self.tree) for child in ast.iter_child_nodes(each)}
        parent = self._parents.get(node)
        while parent is not None:
            yield parent
            parent = self._parents.get(parent)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """Returns the innermost statement that ``node`` is in, or is."""
        if isinstance(node, ast.stmt):
            return node
        return next((each for each in self.parents(node) if isinstance(each, ast.stmt)), None)

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Returns the innermost function that ``node`` is in."""
        for each in self.parents(node):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                return each
        return None

    def _column(self, line: int, offset: int) -> int:
        """From ast's bytes of UTF-8 to characters."""
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        return offset if text.isascii() else len(text.encode("utf-8")[:offset].decode("utf-8", "ignore"))


def _split(text: str) -> list[str]:
    """The lines as ast counts them: a form feed does not end one, a lone carriage return does."""
    return io.StringIO(text, newline="").readlines()


def read_source(path: Path) -> SourceFile:
    """Reads and parses a file.

    Raises:
        Unreadable: it cannot be read, or is not Python.
    """
    name = str(path)
    try:
        if path.stat().st_size > LARGEST:
            raise Unreadable(f"{name}: expected a source file of at most {LARGEST >> 20} MiB, got a larger one")
        # newline="": what is written back by --fix has the line ends of the file.
        with path.open("rb") as file:
            encoding, _ = tokenize.detect_encoding(file.readline)
        with path.open(encoding=encoding, newline="") as opened:
            text = opened.read()
    except OSError as error:
        raise Unreadable(f"{name}: expected a file that can be read, got: {error.strerror or error}") from None
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise Unreadable(f"{name}: expected text in the encoding that it declares, got: {error}") from None
    return SourceFile(name, text)
