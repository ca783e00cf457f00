"""The syntax of files and functions, and what their statements give to names."""

from __future__ import annotations

import ast
import functools
import linecache
import types
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devsan.introspect.source.parsing import parse, parse_expression

_LONGEST = 20_000  # lines of a file that is parsed
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TREES = 64  # functions of which a search asks again and again

Binding = tuple[int, str, ast.expr, bool]
"""Line, name, value, and whether the name is an element of the value."""


def nodes_in(tree: ast.AST, *kinds: type[ast.AST]) -> list[Any]:
    """Returns the nodes of these kinds in a function or a file, also in functions in it, in the order of ``ast.walk``.

    Many rules ask the same function, which may be as long as a file: it is walked once.
    """
    index = _nodes_of(tree)
    found = [each for kind in kinds for each in index.get(kind, ())]
    return [node for _, node in (sorted(found, key=lambda each: each[0]) if len(kinds) > 1 else found)]


@functools.lru_cache(maxsize=_TREES)
def _nodes_of(tree: ast.AST) -> dict[type[ast.AST], list[tuple[int, ast.AST]]]:
    """The nodes by their kind, each with its number."""
    found = defaultdict(list)
    for number, node in enumerate(ast.walk(tree)):
        found[type(node)].append((number, node))
    return found


@functools.lru_cache(maxsize=_TREES)
def bindings_in(tree: ast.AST) -> tuple[Binding, ...]:
    """Returns what a function binds."""
    return tuple(_bindings_in(tree))


def bindings_of(tree: ast.AST, name: str) -> Sequence[Binding]:
    """Returns those of ``name`` and its elements; of an element, ``x["a"]``, those of ``x`` and its other elements."""
    return _bindings_by_root(tree).get(_root_of(name), ())


@functools.lru_cache(maxsize=_TREES)
def _bindings_by_root(tree: ast.AST) -> Mapping[str, Sequence[Binding]]:
    found = defaultdict(list)
    for each in bindings_in(tree):
        found[_root_of(each[1])].append(each)
    return dict(found)


def _root_of(name: str) -> str:
    return name.partition("[")[0]


def _bindings_in(tree: ast.AST) -> Iterator[Binding]:
    for node in statements_of(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value, node.lineno)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            yield node.lineno, ast.unparse(node.target), node.value, False
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield from _elements(node.target, node.iter, node.lineno)
        elif isinstance(node, ast.comprehension):
            yield from _elements(node.target, node.iter, max(node.iter.lineno - 1, 0))
        elif _registers(node):
            yield node.lineno, f"{ast.unparse(node.func.value)}.{node.args[0].value}", node.args[1], False  # type: ignore[attr-defined]
        elif _keeps(node):
            yield node.lineno, ast.unparse(node.func.value), node.args[-1], False  # type: ignore[attr-defined]


def _registers(node: ast.AST) -> bool:
    """Whether it gives a module a buffer or a parameter by name: ``self.register_buffer("mean", mean)``."""
    method = node.func if isinstance(node, ast.Call) and len(node.args) > 1 else None
    registers = isinstance(method, ast.Attribute) and method.attr in ("register_buffer", "register_parameter")
    return registers and isinstance(node.args[0], ast.Constant)  # type: ignore[attr-defined]


def _keeps(node: ast.AST) -> bool:
    """Whether it puts something into a container: ``kept.append(x)``."""
    method = node.func if isinstance(node, ast.Call) and node.args else None
    return isinstance(method, ast.Attribute) and method.attr in ("append", "add", "setdefault")


def _pairs(target: ast.expr, value: ast.expr, line: int) -> Iterator[Binding]:
    if isinstance(target, (ast.Tuple, ast.List)):
        listed = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for place, each in enumerate(target.elts):
            yield from _pairs(each, value.elts[place] if listed else value, line)  # type: ignore[attr-defined]
    else:
        yield line, ast.unparse(target), value, isinstance(value, ast.Call) and getattr(value.func, "id", "") == "next"


def _elements(target: ast.expr, iterated: ast.expr, line: int) -> Iterator[Binding]:
    """``for a, b in zip(x, y)``: an element of x, an element of y."""
    called = iterated.func if isinstance(iterated, ast.Call) else None
    name = getattr(called, "id", getattr(called, "attr", ""))
    inner = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    if name == "zip" and isinstance(iterated, ast.Call) and len(inner) == len(iterated.args):
        for each, given in zip(inner, iterated.args, strict=True):
            yield from _elements(each, given, line)
    elif name == "enumerate" and isinstance(iterated, ast.Call) and len(inner) == 2 and iterated.args:
        yield from _elements(inner[1], iterated.args[0], line)
    elif name in ("items", "values") and isinstance(called, ast.Attribute):
        yield from _elements(inner[-1], called.value, line)
    else:
        yield from ((line, each.id, iterated, True) for each in ast.walk(target) if isinstance(each, ast.Name))


@functools.lru_cache(maxsize=_TREES)
def statements_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Returns what a function, or a file, does itself: not what functions and classes in it do."""
    found, waiting = [], list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)):
            continue
        found.append(node)
        waiting.extend(ast.iter_child_nodes(node))
    return tuple(found)


@functools.lru_cache(maxsize=16)
def functions_in(tree: ast.AST) -> tuple[tuple[str, Any], ...]:
    """Returns the functions in ``tree``, a whole file's, with their qualified names."""
    return tuple(_functions_in(tree, ""))


def _functions_in(tree: ast.AST, around: str) -> Iterator[tuple[str, Any]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            name = f"{around}.{node.name}" if around else node.name
            is_class = isinstance(node, ast.ClassDef)
            if not is_class:
                yield name, node
            yield from _functions_in(node, name if is_class else f"{name}.<locals>")
        elif not isinstance(node, ast.expr):
            yield from _functions_in(node, around)


def tree_of(code: types.CodeType) -> ast.AST | None:
    """Returns the syntax of the function of ``code``, or of the file; None where the source is not there."""
    whole = tree_at(code.co_filename)
    if whole is None or code.co_name == "<module>":
        return whole
    for _, node in functions_in(whole):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        if node.name == code.co_name and first == code.co_firstlineno:
            found: ast.AST = node
            return found
    return None


@functools.lru_cache(maxsize=16)
def tree_at(file: str) -> ast.AST | None:
    """Returns the syntax of ``file``, None where it cannot be read."""
    lines = linecache.getlines(file)
    if not lines or len(lines) > _LONGEST:
        return None
    try:
        return parse("".join(lines))
    except (SyntaxError, ValueError):
        return None


def is_kept(value: ast.expr) -> bool:
    """Whether a statement only reads what something else holds."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and value.func.attr in ("get", "setdefault", "pop", "items")
    return isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple))


def expression(text: str) -> ast.AST:
    """Returns the syntax of ``text``, a constant where it is none."""
    try:
        return parse_expression(text)
    except SyntaxError:
        return ast.Constant(None)


def parts_of(node: ast.AST) -> list[ast.AST | None]:
    """What the value of an expression is made from."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return list(node.values)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return list(node.elts)
    return list(node.values) if isinstance(node, ast.Dict) else []
