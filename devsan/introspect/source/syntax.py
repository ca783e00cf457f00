"""The piece of syntax that an instruction evaluates, from its columns (Python 3.11 and later).

Only the function is parsed, and only down to that piece is its tree looked at: the files of a deep stack, parsed whole,
would take longer than everything else in a report.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Sequence
from itertools import islice
from types import CodeType
from typing import Any

from devsan.introspect.source.parsing import parse

_DEFINITIONS = ("def ", "async def ", "class ")
_LONG = 2000  # lines of a file that is read for one that is not in a function
_INSIDE = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>"})  # parts of a function's text

Span = tuple[int, int, int, int]


def node_at(code: CodeType, offset: int) -> ast.AST | None:
    """Returns the expression, or else the statement, whose text is that of the instruction; None if none is.

    Args:
        code: of a function or a file.
        offset: of the instruction, in bytes.

    Returns:
        The node, with lines and columns of the file and its ``parent``; of an instruction that is no expression's, as
        the end of a ``with``, the innermost statement around it.
    """
    if not hasattr(code, "co_positions") or offset < 0:
        return None
    first, last, start, end = next(islice(code.co_positions(), offset // 2, None), (None,) * 4)
    if first is None or last is None or start is None or end is None:
        return None
    tree = _tree_of(code, first) if code.co_name in _INSIDE else _tree_of(code)
    return _find(tree, (first, last, start, end)) if tree is not None else None


def parsed_block(lines: Sequence[str], start: int) -> ast.AST | None:
    """Returns the syntax of the definition that begins at ``lines[start]``, its line numbers those of the file.

    None where it is no Python. Cut by indentation, which is what a tokenizer written in Python takes long to find out
    better: only where that does not parse it is asked.
    """
    # under an "if", the columns stay those of the file; empty lines keep its line numbers
    head = "\n" * (start - 1) + "if 1:\n" if lines[start][:1].isspace() else "\n" * start
    for block in (_indented, _tokenized):
        try:
            return parse(head + "".join(block(lines, start)))
        except (SyntaxError, ValueError, IndexError):
            continue
    return None


@functools.lru_cache(maxsize=64)
def function_around(file: str, line: int) -> ast.AST | None:
    """Returns the syntax of the function that ``line`` of ``file`` is in, its line numbers those of the file.

    A file without indented functions above ``line`` is returned whole.
    """
    lines = linecache.getlines(file)
    if not 0 < line <= len(lines):
        return None
    inner = _indent(lines[line - 1])
    for start in range(line - 1, -1, -1):
        text = lines[start]
        if text.lstrip().startswith(("def ", "async def ")) and _indent(text) < inner:
            tree: Any = _block_at(file, start)
            if tree is None:
                return None
            if tree.body[-1].end_lineno < line:  # it has ended before
                continue
            return tree  # type: ignore[no-any-return]
    return _whole(file) if inner == 0 or len(lines) < _LONG else None


@functools.lru_cache(maxsize=64)
def _block_at(file: str, start: int) -> ast.AST | None:
    """The definition that begins at line ``start`` of a file, counted from 0: one tree for all that ask for a part."""
    return parsed_block(linecache.getlines(file), start)


@functools.lru_cache(maxsize=16)
def _whole(file: str) -> ast.AST | None:
    try:
        return parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


def _tokenized(lines: Sequence[str], start: int) -> Sequence[str]:
    return inspect.getblock(lines[start:])


def _indented(lines: Sequence[str], start: int) -> Sequence[str]:
    """The lines from ``start`` to the first after the definition that is not indented more than its head."""
    base, end, in_body = _indent(lines[start]), start + 1, lines[start].lstrip().startswith(_DEFINITIONS)
    for number in range(start + 1, len(lines)):
        text = lines[number].lstrip()
        if text and _indent(lines[number]) > base:
            end = number + 1
        elif text and not in_body:  # decorators
            in_body, end = text.startswith(_DEFINITIONS), number + 1
        elif text and text[0] not in "#)]}":
            break
    return lines[start:end]


@functools.lru_cache(maxsize=256)
def _tree_of(code: CodeType, line: int | None = None) -> ast.AST | None:
    """The syntax of what ``code`` was compiled from; with ``line`` that of the function around it."""
    if line is not None:
        return function_around(code.co_filename, line)
    lines = linecache.getlines(code.co_filename)
    if not lines:
        return None
    if code.co_name == "<module>":
        try:
            return parse("".join(lines))
        except (SyntaxError, ValueError):
            return None
    if code.co_firstlineno > len(lines):
        return None
    tree = _block_at(code.co_filename, code.co_firstlineno - 1)
    return tree if tree is not None and _defines(tree, code.co_name) else None  # or the file is not what runs


def _find(tree: ast.AST, wanted: Span) -> ast.AST | None:
    found: ast.AST | None = None
    around: ast.AST | None = None
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, in_text = waiting.pop()
        for child in ast.iter_child_nodes(node):
            span = _span(child)
            if span is not None:
                if span == wanted and (isinstance(child, ast.expr) or found is None):
                    found = child
                    child.parent = node  # type: ignore[attr-defined]
                if not _covers(span, wanted):
                    if in_text:  # inside of a text with {}, where Python up to 3.11 counts columns in its own way
                        waiting.append((child, True))
                    for decorator in getattr(child, "decorator_list", ()):  # above the definition
                        waiting.append((ast.Expr(decorator), False))
                    continue
                if isinstance(child, ast.stmt):
                    around = None if hasattr(child, "decorator_list") else child  # a definition says nothing
            waiting.append((child, in_text or isinstance(child, ast.JoinedStr)))
    return found if found is not None else around


def _span(node: Any) -> Span | None:
    try:
        return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
    except AttributeError:  # arguments, an item of a with, a keyword: no place of its own
        return None


def _covers(span: Span, wanted: Span) -> bool:
    first, last, start, end = span
    return (first, start) <= (wanted[0], wanted[2]) and (wanted[1], wanted[3]) <= (last, end)


def _defines(tree: ast.AST, name: str) -> bool:
    body = getattr(tree, "body", [])
    if len(body) == 1 and isinstance(body[0], ast.If):
        body = body[0].body
    return bool(body) and getattr(body[0], "name", None) == name


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
