"""The keywords that a class or a function of an installed package takes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from devsan.doctor.installed.packages import Definition, Installed

_DEEPEST = 8  # base classes
_OPAQUE = ("__new__", "__call__", "__init_subclass__")
_DOCUMENTING = ("docstring", "require", "deprecat", "experimental", "runtime_checkable", "total_ordering", "final")
"""In the names of decorators that leave the arguments of a class as they are."""


def keywords(installed: Installed, module: str, name: str) -> frozenset[str]:
    """Returns the keywords that ``name``, as ``module`` offers it, takes; nothing where it may take any."""
    found = installed.find(module, name)
    return (_of(installed, found, _DEEPEST) if found is not None else None) or frozenset()


def _of(installed: Installed, found: Definition, left: int) -> frozenset[str] | None:
    node = found.node
    if not isinstance(node, ast.ClassDef):
        return _parameters(node, 0)
    own = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    if node.keywords or not left or not own.keys().isdisjoint(_OPAQUE):
        return None
    words = [ast.unparse(each) for each in node.decorator_list]
    made = [word.partition("(")[0].rpartition(".")[2] == "dataclass" for word in words]
    if not all(ours or any(each in word for each in _DOCUMENTING) for word, ours in zip(words, made, strict=True)):
        return None
    if "__init__" in own:
        taken = _parameters(own["__init__"], 1)
        return taken if taken is not None else _handed_up(installed, found, own["__init__"], left)
    bases = [base for base in node.bases if ast.unparse(base) not in ("object", "ABC", "abc.ABC")]
    inherited = [_of_base(installed, found, base, left - 1) for base in bases]
    if not any(made):
        return inherited[0] if len(inherited) == 1 else None
    known = [each for each in inherited if each is not None]
    return frozenset(_fields(node)).union(*known) if len(known) == len(inherited) else None


def _of_base(installed: Installed, found: Definition, base: ast.expr, left: int) -> frozenset[str] | None:
    if not isinstance(base, ast.Name):
        return None
    definition = installed.find(found.module.name, base.id)
    if definition is None or definition.node is found.node:
        return None
    return frozenset() if _is_mixin(definition.node) else _of(installed, definition, left)


def _handed_up(installed: Installed, found: Definition, made: ast.FunctionDef, left: int) -> frozenset[str] | None:
    """What a constructor takes that gives ``**kwargs`` to that of its one base, and does nothing else with it."""
    bases, more = found.node.bases, made.args.kwarg  # type: ignore[union-attr]
    used = [node for node in ast.walk(made) if more is not None and isinstance(node, ast.Name) and node.id == more.arg]
    up = [node for node in ast.walk(made) if isinstance(node, ast.Call) and _is_up(node)
          and any(keyword.arg is None and keyword.value in used for keyword in node.keywords)]  # fmt: skip
    if len(bases) != 1 or len(used) != 1 or len(up) != 1:
        return None
    inherited = _of_base(installed, found, bases[0], left - 1)
    return inherited | _named(made, 1) if inherited else None


def _is_up(node: ast.Call) -> bool:
    up = node.func
    return isinstance(up, ast.Attribute) and up.attr == "__init__" and ast.unparse(up.value).startswith("super(")


def _is_mixin(node: ast.AST) -> bool:
    """Whether a class has methods alone, and no say in how it is made."""
    made = ("__init__", *_OPAQUE)
    return isinstance(node, ast.ClassDef) and not (
        node.bases or node.keywords or node.decorator_list
        or any(isinstance(each, ast.FunctionDef) and each.name in made for each in node.body)
    )  # fmt: skip


def _fields(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, skipped: int) -> frozenset[str] | None:
    return _named(node, skipped) if node.args.kwarg is None else None


def _named(node: ast.FunctionDef | ast.AsyncFunctionDef, skipped: int) -> frozenset[str]:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args][skipped:]
    taken = {each.arg for each in [*named, *arguments.kwonlyargs]}
    return frozenset(taken).union(_texts(node.decorator_list))


def _texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    """What decorators spell: the old name of an argument that they still take."""
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value
