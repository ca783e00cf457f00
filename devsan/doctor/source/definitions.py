"""What the file defines: classes, functions, and what is taken from them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from devsan.doctor.source.values import Value


@dataclass(frozen=True)
class ClassFacts:
    """A class of this file.

    Attributes:
        name: its name.
        node: its definition.
        bases: those of this file, the next one first, without repetition.
        foreign: dotted names of its bases from elsewhere, its own and its bases'.
        is_module: it is, or is likely, a torch.nn.Module.
        scope: where its methods look for names (interpreter.Scope).
    """

    name: str
    node: ast.ClassDef
    bases: tuple[ClassFacts, ...]
    foreign: tuple[str, ...]
    is_module: bool
    scope: object = field(compare=False, repr=False)

    def method(self, name: str) -> tuple[ClassFacts, ast.FunctionDef | ast.AsyncFunctionDef] | None:
        """Returns the definition of a method, and the class that has it."""
        for owner in (self, *self.bases):
            for statement in owner.node.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == name:
                    return owner, statement
        return None

    def methods(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Yields all methods, also those that another one hides."""
        for owner in (self, *self.bases):
            for statement in owner.node.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield statement


@dataclass(frozen=True, eq=False)
class Identity(Value):
    """Values that are equal only to themselves."""


@dataclass(frozen=True)
class ClassValue(Value):
    """A class of this file, as a value."""

    facts: ClassFacts


@dataclass(frozen=True, eq=False)
class Function(Identity):
    """A function or lambda of this file; ``bound`` is what it was taken from, for a method."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: object
    bound: Value | None = None
    owner: ClassFacts | None = None


@dataclass(frozen=True)
class Member(Value):
    """``holder.name`` of something that is no object of this file: a method of a tensor, of a library's model."""

    holder: Value
    name: str


@dataclass(frozen=True)
class Partial(Value):
    """``functools.partial``: a function, and what it is given before the rest."""

    function: Value
    values: tuple[Value, ...] = ()
    named: tuple[tuple[str, Value], ...] = ()
