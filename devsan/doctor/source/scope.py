"""Names and what they mean, and what is true of the process, along one path of the program."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field, replace

from devsan.doctor.source.places import HOST, Where, join
from devsan.doctor.source.values import UNKNOWN, Ref, Value, join_values
from devsan.doctor.source.visible import UNSET, Visible


@dataclass(eq=False)
class Scope:
    """The names of a file, a function or a class.

    Attributes:
        names: what they mean.
        parent: where other names are looked for.
        elsewhere: names that ``global`` or ``nonlocal`` declares.
    """

    names: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    elsewhere: set[str] = field(default_factory=set)

    def read(self, name: str) -> Value:
        """Returns what a name means; a builtin is a Ref of "builtins"."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return Ref(f"builtins.{name}") if hasattr(builtins, name) else UNKNOWN

    def write(self, name: str, value: Value) -> None:
        """Gives a name another meaning. A name of an outer function keeps both: who calls when is not followed."""
        if name in self.elsewhere:
            scope = self.parent
            while scope is not None:
                if name in scope.names:
                    scope.names[name] = join_values(scope.names[name], value)
                    return
                scope = scope.parent
        self.names[name] = value

    def change(self, name: str, value: Value) -> None:
        """What a name means has changed in itself (a list, a dictionary): in whichever scope it has the name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                scope.names[name] = value if scope is self else join_values(scope.names[name], value)
                return
            scope = scope.parent

    def file(self) -> Scope:
        """Returns the scope of the file."""
        return self if self.parent is None else self.parent.file()


def join_names(one: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
    """Returns the names after two paths meet; what only one path has, the program will use on that path only."""
    joined = {}
    for name in one.keys() | other.keys():
        if name in one and name in other:
            joined[name] = join_values(one[name], other[name])
        else:
            joined[name] = one.get(name, other.get(name, UNKNOWN))
    return joined


@dataclass(frozen=True)
class Process:
    """What is true of the process.

    Attributes:
        default: where factories without a device work.
        chosen: the call that chose the current GPU.
        current: the GPU that it chose.
        used: the first use of CUDA, on every path to here.
        visible: CUDA_VISIBLE_DEVICES, as CUDA reads it.
    """

    default: Where = HOST
    chosen: ast.AST | None = None
    current: Where | None = None
    used: ast.AST | None = None
    visible: Visible = UNSET

    def joined(self, other: Process) -> Process:
        """Returns what is true after two paths meet."""
        return replace(
            self,
            default=join(self.default, other.default),
            # Chosen on one path is chosen: a rule that asks for it has nothing to say then.
            chosen=self.chosen or other.chosen,
            current=self.current if self.current == other.current else None,
            used=self.used if self.used is not None and other.used is not None else None,
            visible=self.visible.joined(other.visible),
        )
