"""The calls that are being followed."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass, field

from devsan.doctor.source.definitions import ClassFacts
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import Value


class Exhausted(Exception):
    """Something takes too long to follow; what was seen until then is checked."""


@dataclass(eq=False)
class Frame:
    """A call that is being followed."""

    node: ast.AST
    owner: ClassFacts | None = None
    scope: Scope = field(default_factory=Scope)
    number: int = 0
    returned: list[Value] = field(default_factory=list)
    yielded: list[Value] = field(default_factory=list)


@functools.lru_cache(maxsize=512)
def required_parameters(node: ast.AST) -> list[str]:
    """Returns the parameters of a function that have no default and keep what they were given."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    positional = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    required = positional[: len(positional) - len(node.args.defaults)]
    named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    required += [each.arg for each, default in named if default is None]
    stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return [name for name in required if name not in stored]
