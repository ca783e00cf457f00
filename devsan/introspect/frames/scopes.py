"""Places in the source from which names are read backwards: functions that still run, helpers, constructors, files."""

from __future__ import annotations

import ast
import functools
import re
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from devsan import core
from devsan.installed import class_file
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.places import package_of
from devsan.introspect.frames.tensors import is_tensor
from devsan.introspect.frames.values import MISSING, is_a, own_dict
from devsan.introspect.source.sources import bindings_in, bindings_of, functions_in, statements_of, tree_at, tree_of
from devsan.introspect.source.statements import said_by

_CLOSED = frozenset({"torch", "python", "numpy", "devsan"})  # nobody follows a value into these
_END = 1 << 30
_DECORATORS = 4  # around one method


_SLICE = re.compile(r"\[[^\"']*:[^\"']*\]$")
"""Behind what is written into, a tensor or a list, which is where it was: ``rows[:2] = ...``."""


@dataclass(frozen=True)
class Spot:
    """A line of a function, or of a file outside of functions.

    Attributes:
        file: that it is in.
        function: the qualified name; ``<module>`` outside of functions.
        tree: the syntax of the function or the file.
        line: what stands before it counts.
        frame: the running call, None for one that has returned.
        number: the frame's position in the traceback.
        globals: the variables of the file.
        bound: what parameters were given, where no frame tells: the expression and where it stands.
        called_at: the call, and where it stands, that led here.
    """

    file: str
    function: str
    tree: ast.AST
    line: int
    frame: Frame | None = None
    number: int = 0
    globals: Any = None
    bound: dict[str, tuple[ast.AST, Spot]] = field(default_factory=dict)
    called_at: tuple[ast.AST, Spot] | None = None

    def before(self, node: Any) -> Spot:
        """Returns the spot just before the statement of ``node``."""
        return replace(self, line=node.lineno)

    def value(self, node: ast.AST | None) -> object:
        """Returns what ``node`` stands for, as far as living variables tell, or MISSING."""
        if self.frame is not None:
            return self.frame.scope.value(node)
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id in self.bound:
            given, caller = self.bound[node.id]
            return caller.value(given) if self.last_given(node.id) is None else MISSING
        if isinstance(node, ast.Name):
            return (self.globals or {}).get(node.id, MISSING)
        if isinstance(node, ast.Attribute):
            held = self.value(node.value)
            if isinstance(held, type):
                return _members(held).get(node.attr, MISSING)
            return own_dict(held).get(node.attr, MISSING) if isinstance(held, types.ModuleType) else MISSING
        return MISSING

    def is_namespace(self, node: ast.AST) -> bool:
        """Returns whether ``node`` is a module or a class: ``torch``, ``F``."""
        return isinstance(self.value(node), (types.ModuleType, type))

    def last_given(self, name: str, *, whole: bool = False) -> tuple[ast.expr, bool] | None:
        """Returns what ``name`` was given last before the line, and whether it is an element of that; or None.

        What is written into a tensor does not count, since the tensor stays where it is; ``whole`` says that ``name``
        is one. Of a list and a dictionary it counts.
        """
        last: tuple[int, ast.expr, bool] | None = None
        bindings = [each for each in bindings_of(self.tree, name) if each[0] < self.line]
        whole = whole or any(target == name and _is_factory(value) for _, target, value, _ in bindings)
        for line, target, value, is_element in bindings:
            number = isinstance(value, ast.Constant)
            inside = target.partition("[")[0] == name and not (whole or number or _SLICE.search(target))
            if (target == name or inside) and (last is None or line >= last[0]):
                last = (line, value, is_element)
        return None if last is None else last[1:]

    def returns(self) -> list[ast.expr | None]:
        """Returns what the function gives back, the last first."""
        found = [node.value for node in statements_of(self.tree) if isinstance(node, (ast.Return, ast.Yield))]
        return found[::-1]

    def enclosing(self) -> Spot | None:
        """Returns the function around this one, where it has one."""
        outer, inside, _ = self.function.rpartition(".<locals>.")
        whole = tree_at(self.file)
        if not inside or whole is None:
            return None
        name = outer.rpartition(".")[2]
        line = getattr(self.tree, "lineno", self.line)  # a lambda, a comprehension: parts of a line, without a tree
        for function, node in functions_in(whole):
            if node.name == name and node.lineno <= line <= (node.end_lineno or 0):
                return Spot(self.file, function, node, _END, globals=self.globals)
        return None


def _is_factory(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and said_by(value).is_factory


def spot_of(frames: Sequence[Frame], number: int) -> Spot:
    """Returns the spot of frame ``number``: its failing line."""
    frame = frames[number]
    tree = tree_of(frame.code) or ast.Module([], [])
    return Spot(frame.file, frame.function, tree, frame.line, frame, number, frame.scope.globals)


def spot_in(place: core.Frame) -> Spot | None:
    """Returns the spot of ``place`` (the core's Frame), None where its function is not found in the file."""
    whole = tree_at(place.file) if package_of(place.file) not in _CLOSED else None
    if whole is None or place.function == "<module>":
        return Spot(place.file, place.function, whole, place.span.line) if whole is not None else None
    for function, node in functions_in(whole):
        if function == place.function and node.lineno <= place.span.line <= (node.end_lineno or 0):
            return Spot(place.file, function, node, place.span.line)
    return None


def spot_of_code(code: types.CodeType) -> Spot | None:
    """Returns the end of the function of ``code``, None where its source cannot be read."""
    tree = tree_of(code)
    name = str(getattr(code, "co_qualname", code.co_name))
    return Spot(code.co_filename, name, tree, _END) if tree is not None else None


def module_spot(spot: Spot) -> Spot | None:
    """Returns the end of the file that ``spot`` is in."""
    whole = tree_at(spot.file)
    return Spot(spot.file, "<module>", whole, _END, globals=spot.globals) if whole is not None else None


def function_of(call: ast.Call, spot: Spot) -> Spot | None:
    """Returns the function that ``call`` calls, with what its parameters get; None for torch's and hidden ones."""
    found: Any = spot.value(call.func)
    if found is MISSING and isinstance(call.func, ast.Attribute):
        name = call.func.attr
        methods = (_members(kind)[name] for kind in kinds_of(call.func.value, spot) if name in _members(kind))
        found = next(methods, MISSING)
    if isinstance(called := _members(type(found)).get("__call__"), types.FunctionType):
        found = called  # an object that is called
    for _ in range(4):
        found = getattr(found, "__wrapped__", found) if _wraps(found) else found
        found = found.__func__ if isinstance(found, (types.MethodType, staticmethod, classmethod)) else found
        if is_a(found, functools.partial):
            found = found.func
    if not isinstance(found, types.FunctionType) or package_of(found.__code__.co_filename) in _CLOSED:
        return None
    tree = tree_of(found.__code__)
    if tree is None:
        return None
    code = found.__code__
    names = list(code.co_varnames[: code.co_argcount])
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    given = dict(zip(names, call.args, strict=False)) | {word.arg: word.value for word in call.keywords if word.arg}
    bound: dict[str, tuple[ast.AST, Spot]] = {name: (value, spot) for name, value in given.items()}
    function = str(getattr(code, "co_qualname", code.co_name))
    return Spot(code.co_filename, function, tree, _END, globals=found.__globals__, bound=bound, called_at=(call, spot))


def _wraps(found: Any) -> bool:
    """Whether it is a decorator's of torch or Python: ``functools.lru_cache``, ``torch.no_grad``."""
    if isinstance(found, types.FunctionType):
        return package_of(found.__code__.co_filename) in _CLOSED
    return type(found).__name__ == "_lru_cache_wrapper"


def _under_decorators(member: Any) -> Iterator[types.FunctionType]:
    """Yields a method, and those that decorators which keep them stand around: ``functools.wraps``."""
    for _ in range(_DECORATORS):
        if isinstance(member, types.FunctionType) and not _wraps(member):
            yield member
        member = own_dict(member).get("__wrapped__")


def class_of(holder: ast.AST, spot: Spot) -> Iterator[Spot]:
    """Yields the methods of the class whose instance ``holder`` is, ``__init__`` last."""
    for kind in kinds_of(holder, spot):
        functions = [each for member in _members(kind).values() for each in _under_decorators(member)]
        functions.sort(key=lambda each: each.__name__ == "__init__")
        for each in functions:
            tree = tree_of(each.__code__)
            if tree is not None:
                name = str(getattr(each.__code__, "co_qualname", each.__code__.co_name))
                yield Spot(each.__code__.co_filename, name, tree, _END, globals=each.__globals__)


def stores_of(attribute: ast.Attribute, spot: Spot) -> list[tuple[Spot, ast.expr]]:
    """Returns what the methods of its class gave to ``attribute`` last, each with the end of the method.

    Where one of them gave it a tensor that it made, what others write into that does not count.
    """
    own = f"self.{attribute.attr}"
    methods = list(class_of(attribute.value, spot))
    whole = is_tensor(spot.value(attribute)) or any(
        target == own and _is_factory(value) for each in methods for _, target, value, _ in bindings_in(each.tree)
    )
    given = ((each, each.last_given(own, whole=whole)) for each in methods)
    return [(each, value[0]) for each, value in given if value is not None]


def methods_of(kind: type) -> Iterator[types.CodeType]:
    """Yields the code of the methods that the program's classes give to ``kind``."""
    for base in type.__dict__["__mro__"].__get__(kind):
        if package_of(class_file(base)) not in _CLOSED:
            for each in _members(base).values():
                function = each.__func__ if isinstance(each, (staticmethod, classmethod)) else each
                if isinstance(function, types.FunctionType):
                    yield function.__code__


def _members(kind: type) -> dict[str, Any]:
    return dict(type.__dict__["__dict__"].__get__(kind))


def kinds_of(holder: ast.AST, spot: Spot) -> Iterator[type]:
    """Yields the program's classes whose instance ``holder`` is."""
    held = spot.value(holder)
    if held is MISSING and isinstance(holder, ast.Name) and holder.id == "self":
        name = spot.function.rpartition(".")[0].rpartition(".")[2]
        held = (spot.globals or {}).get(name, MISSING)
    if held is MISSING:
        return
    kind = held if isinstance(held, type) else type(held)
    for base in type.__dict__["__mro__"].__get__(kind):
        if package_of(class_file(base)) not in _CLOSED:
            yield base
