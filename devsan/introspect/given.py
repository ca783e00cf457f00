"""What the program's own call passes on to the library that fails: what can be moved before that call.

A line of a library is not the user's to change. Where a tensor came through the arguments of the call in the program
that led into the library, it is moved above that call, under the name that the program has for it, and with it whatever
else the call passes on from the same device, which would be refused next.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan.diagnostics.placement import Placement
from devsan.introspect.frames.expressions import Expression, arguments_of
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.tracking import Tracked
from devsan.introspect.frames.values import MISSING, is_a
from devsan.introspect.models.models import members

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.NamedExpr)
_WITH_DEVICE = frozenset({"transformers", "diffusers"})
"""Libraries whose models have a ``device``, that of their first parameter (ModuleUtilsMixin, ModelMixin)."""


@dataclass(frozen=True)
class Given:
    """An operand as the program's call passes it on.

    Attributes:
        name: what to give a new value: ``ids``, ``batch["input_ids"]``; of a dictionary of tensors, ``batch``.
        in_parts: whether it is that dictionary.
        beside: the names of what else the call passes on from the same device.
    """

    name: str
    in_parts: bool = False
    beside: tuple[str, ...] = ()


class Call:
    """The call in the program that led into the library whose line fails.

    Args:
        frames: of the traceback, outermost first.
        place: number of the frame that fails; -1 without frames.
    """

    def __init__(self, frames: Sequence[Frame], place: int) -> None:
        own = [number for number in range(max(place, 0)) if frames[number].whose is Whose.PROGRAM]
        inside = place >= 0 and frames[place].whose is Whose.LIBRARY
        self._number = own[-1] if own and inside else -1
        self._frame = frames[self._number] if self._number >= 0 and _is_simple(frames[self._number]) else None

    def given(self, operand: Tracked) -> Given | None:
        """Returns a tensor that is no weight as the call has it; None where that is no name of the program's."""
        expression = operand.at.get(self._number)
        if self._frame is None or expression is None or operand.placement is None:
            return None
        found = self._named(expression)
        if found is None:
            return None
        others = (self._named(each) for each in arguments_of(self._frame) if self._is_on(each, operand.placement))
        beside = dict.fromkeys(each.name for each in others if each is not None and not each.in_parts)
        return Given(found.name, found.in_parts, tuple(name for name in beside if name != found.name))

    def asked(self, operand: Tracked) -> str:
        """Returns what has the ``device`` of an operand where the call stands: the model that is called, or a tensor
        that a name or an attribute leads to; "" for none."""
        expression = operand.at.get(self._number)
        if self._frame is None or expression is None:
            return ""
        called = self._frame.node.func if isinstance(self._frame.node, ast.Call) else None
        for node in (called, called.value if isinstance(called, ast.Attribute) else None):
            model = self._frame.scope.value(node) if node is not None else MISSING
            if node is not None and operand.placement is not None and _device_of(model) == operand.placement.device:
                return self._frame.segment(node)
        is_plain = not expression.path and all(
            isinstance(each, (ast.Name, ast.Attribute, ast.expr_context)) for each in ast.walk(expression.node)
        )
        return self._frame.segment(expression.node) if is_plain else ""

    def _is_on(self, expression: Expression, placement: Placement) -> bool:
        assert self._frame is not None
        value = expression.value(self._frame)
        return is_tensor(value) and str(value.device) == placement.device and value.dim() > 0  # type: ignore[attr-defined]

    def _named(self, expression: Expression) -> Given | None:
        assert self._frame is not None
        node, path, scope = expression.node, expression.path, self._frame.scope
        if isinstance(node, ast.Name) and self._can_rebind(node.id):
            held = scope.value(node)
            if not path:
                return Given(node.id) if is_tensor(held) else None
            if len(path) == 1 and is_a(held, dict, Mapping) and isinstance(path[0].key, str):
                if callable(getattr(type(held), "to", None)):
                    return Given(node.id)
                return Given(node.id, True) if is_a(held, dict) and all(map(is_tensor, held.values())) else None  # type: ignore[attr-defined]
        keyed = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and not path
        if keyed and is_a(scope.value(node.value), dict):  # type: ignore[attr-defined]
            return Given(self._frame.segment(node))
        return None

    def _can_rebind(self, name: str) -> bool:
        assert self._frame is not None
        code = self._frame.code
        return code.co_name == "<module>" or name in code.co_varnames or name in code.co_cellvars


def _is_simple(frame: Frame) -> bool:
    """Whether a line above the statement is run once before it: it has its line for itself, and no scope in it."""
    node = frame.node
    while node is not None and not isinstance(node, ast.stmt):
        if isinstance(node, _SCOPES):
            return False
        node = getattr(node, "parent", None)
    if not isinstance(node, _SIMPLE) or not 0 < node.lineno <= len(frame.lines):
        return False
    return not frame.lines[node.lineno - 1].encode("utf-8", "surrogatepass")[: node.col_offset].strip()


def _device_of(model: object) -> str:
    """What ``model.device`` is, where its library defines it; "" elsewhere."""
    if not is_module(model) or all(each.__module__.split(".")[0] not in _WITH_DEVICE for each in type(model).__mro__):
        return ""
    first = next(_parameters_of(model), None)
    return str(first.device) if first is not None else ""


def _parameters_of(module: object) -> Iterator[Any]:
    """In the order of ``parameters()``, which may be the program's own."""
    yield from members(module, "_parameters").values()
    for child in members(module, "_modules").values():
        yield from _parameters_of(child)
