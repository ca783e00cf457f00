"""What the program's own call passes on to the library that fails: what can be moved above that call.

A line of a library is not the user's to change. Where a tensor came through the arguments of the call in the program
that led into the library, it is moved above that call, under the name that the program has for it, and with it whatever
else the call passes on from the same device, which would be refused next. Nothing of the program is run to find out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devsan import core
from devsan.diagnostics.placement import Placement
from devsan.introspect.frames.expressions import Expression, arguments_of
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.places import name_of, place_in
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.tracking import Tracked
from devsan.introspect.frames.values import MISSING, elements_of, in_class, is_a
from devsan.introspect.models.models import members

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_NOT_FOR_CERTAIN = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.NamedExpr, ast.IfExp,
                    ast.BoolOp)  # fmt: skip
"""What is in them is run often, or perhaps not, or has names of its own."""

_OWN_NAMES = frozenset({"key", "value"})
"""Of the comprehension that moves a dictionary."""

_WITH_DEVICE = frozenset({"transformers", "diffusers"})
"""Libraries whose models have a ``device``, that of their first parameter (ModuleUtilsMixin, ModelMixin)."""


@dataclass(frozen=True)
class Given:
    """An operand as the program's call passes it on.

    Attributes:
        names: what to give new values: ``ids``, ``batch["input_ids"]``, or ``batch``, a collection of tensors; the
            operand's own first, then those of what else the call passes on from the same device.
        kept_in: "dict" or "tuple", where the first is such a collection. A list may be one that the call fills.
    """

    names: tuple[str, ...]
    kept_in: str = ""


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
        self._statement = _statement_of(frames[self._number]) if self._number >= 0 else None
        self._frame = frames[self._number] if self._statement is not None else None

    def statement(self) -> core.Frame | None:
        """Returns the statement that the call stands in; None where no line above it could move what it passes on."""
        frame, node = self._frame, self._statement
        if frame is None or node is None:
            return None
        return place_in(frame.file, name_of(frame.code), node.lineno, node.end_lineno, node.col_offset,
                        node.end_col_offset)  # fmt: skip

    def given(self, operand: Tracked) -> Given | None:
        """Returns what the call has for an operand; None where that is no name of the program's."""
        expression = operand.at.get(self._number)
        if self._frame is None or expression is None or operand.placement is None:
            return None
        found = self._named(expression)
        if found is None:
            return None
        others = [self._named(each) for each in arguments_of(self._frame) if self._is_on(each, operand.placement)]
        names = [found.names[0], *(each.names[0] for each in others if each is not None and not each.kept_in)]
        return Given(tuple(dict.fromkeys(names)), found.kept_in)

    def asked(self, operand: Tracked) -> str:
        """Returns what has the ``device`` of an operand where the call stands: the model that is called, or a tensor
        that a name, an attribute or an element is; of what the library has computed, one that the call passes on. ""
        for none."""
        expression = operand.at.get(self._number)
        wanted = operand.placement
        if self._frame is None or wanted is None:
            return ""
        called = self._frame.node.func if isinstance(self._frame.node, ast.Call) else None
        for node in (called, called.value if isinstance(called, ast.Attribute) else None):
            model = self._frame.scope.value(node) if node is not None else MISSING
            if node is not None and _device_of(model) == wanted.device:
                return self._frame.segment(node)
        if expression is None:
            there = (each for each in arguments_of(self._frame) if self._is_on(each, wanted))
            return next((each.text(self._frame) for each in there if self._is_plain(each)), "")
        return expression.text(self._frame) if self._is_plain(expression) else ""

    def _is_plain(self, expression: Expression) -> bool:
        """Whether it is a tensor by its names alone, which a line above the call may use."""
        assert self._frame is not None
        plain = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
        names = {each.id for each in ast.walk(expression.node) if isinstance(each, ast.Name)}
        is_named = all(isinstance(each, plain) for each in ast.walk(expression.node)) and not names & _OWN_NAMES
        return is_named and is_tensor(expression.value(self._frame))

    def _is_on(self, expression: Expression, placement: Placement) -> bool:
        assert self._frame is not None
        found = expression.placement(self._frame) if is_tensor(expression.value(self._frame)) else None
        return found is not None and found.device == placement.device and bool(found.shape)

    def _named(self, expression: Expression) -> Given | None:
        assert self._frame is not None
        node, path, scope = expression.node, expression.path, self._frame.scope
        if isinstance(node, ast.Name) and self._can_rebind(node.id):
            held = scope.value(node)
            if not path:
                return Given((node.id,)) if is_tensor(held) else None
            if len(path) == 1 and isinstance(path[0].key, str | int):
                moves_itself = is_a(held, Mapping) and in_class(type(held), "to") is not MISSING
                if moves_itself or _holds_tensors_alone(held):
                    return Given((node.id,), "" if moves_itself else type(held).__name__)
        keyed = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and not path
        if keyed and is_a(elements_of(scope.value(node.value)), dict):  # type: ignore[attr-defined]
            return Given((self._frame.segment(node),))
        return None

    def _can_rebind(self, name: str) -> bool:
        assert self._frame is not None
        code = self._frame.code
        return code.co_name == "<module>" or name in code.co_varnames or name in code.co_cellvars


def _holds_tensors_alone(held: object) -> bool:
    if type(held) is dict:
        return all(map(is_tensor, held.values()))
    return type(held) is tuple and all(map(is_tensor, held))


def _statement_of(frame: Frame) -> ast.stmt | None:
    """The statement that is executed, where a line above it is run once before it and nowhere else."""
    node = frame.node
    while node is not None and not isinstance(node, ast.stmt):
        if isinstance(node, _NOT_FOR_CERTAIN):
            return None
        node = getattr(node, "parent", None)
    if not isinstance(node, _SIMPLE) or not 0 < node.lineno <= len(frame.lines):
        return None
    before = frame.lines[node.lineno - 1].encode("utf-8", "surrogatepass")[: node.col_offset]
    return node if not before.strip(b" ") else None  # a tab is as deep as an editor says


def _device_of(model: object) -> str:
    """What ``model.device`` is, where its library defines it; "" elsewhere."""
    if not is_module(model) or not any(
        each.__module__.split(".")[0] in _WITH_DEVICE and "device" in vars(each) for each in type(model).__mro__
    ):
        return ""
    first = next(_parameters_of(model), None)
    return str(first.device) if first is not None else ""


def _parameters_of(module: object) -> Iterator[Any]:
    """In the order of ``parameters()``, which may be the program's own."""
    yield from members(module, "_parameters").values()
    for child in members(module, "_modules").values():
        yield from _parameters_of(child)
