"""The way that a tensor came to the failing line: the pieces of source that it passed, read backwards.

NOTE [The way of a value] Lineage looks for what placed a tensor and stops there. What the program did with the tensor
on its way, and that had no effect, no recorder sees: those statements stand beside the names that it passed. So the way
goes on from the failing frame through assignments, parameters, the helpers that returned it and the objects that hold
it. It ends where something else decides the device: at a factory, at a move, at what a module of torch's computes. What
is called on the way is followed only where it surely hands a tensor on: a method of tensors, a function of torch's, one
whose source is the program's.
"""

from __future__ import annotations

import ast
import dataclasses
import sys
import types
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from devsan.diagnostics.torch_names import MOVES
from devsan.introspect.frames.binding import step_out
from devsan.introspect.frames.expressions import Expression
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.inference import is_number
from devsan.introspect.frames.only_calls import field_at_only_call, given_at_only_call
from devsan.introspect.frames.places import package_of, place_of
from devsan.introspect.frames.scopes import Spot, function_of, kinds_of, module_spot, spot_of, stores_of
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import MISSING
from devsan.introspect.source.sources import parts_of
from devsan.introspect.source.statements import said_by

_MOST = 96  # pieces of source that are looked at
_SAME_PLACE = frozenset({"T", "mT", "H", "data", "real", "imag"})
_TAKES_OUT = frozenset({"get", "pop", "setdefault"})


@dataclass(frozen=True)
class Step:
    """A piece of source on the way.

    Attributes:
        node: the expression.
        spot: where it stands; what stands before the spot's line counts.
        part: None where ``node`` is a tensor; else the attribute or key under which it holds the tensor, "" if that is
            not known.
        straight: whether the tensor's device is this one's for certain: it was not joined with another on the way.
    """

    node: ast.AST
    spot: Spot
    part: str | None = None
    straight: bool = True


class Way:
    """Reads the ways of the operands of one failure.

    Args:
        frames: of the traceback, outermost first.
    """

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.frames = frames

    def back_from(self, node: ast.AST, number: int, device: str) -> Iterator[Step]:
        """Yields the steps of a tensor on ``device`` that is ``node`` in frame ``number``, the nearest first."""
        waiting = deque([Step(node, spot_of(self.frames, number))])
        seen: set[tuple[Any, ...]] = set()
        while waiting and len(seen) < _MOST:
            step = waiting.popleft()
            place = (id(step.node), step.spot.function, step.spot.line, step.part)
            if place in seen or self._is_elsewhere(step, device):
                continue
            seen.add(place)
            yield step
            waiting.extend(self._before(step, device))

    def _is_elsewhere(self, step: Step, device: str) -> bool:
        held = step.spot.value(step.node) if step.part is None and step.spot.frame is not None else MISSING
        return is_tensor(held) and str(held.device) != device  # type: ignore[attr-defined]

    def _before(self, step: Step, device: str) -> list[Step]:
        node = step.node
        if isinstance(node, ast.Name):
            return self._named(step) or self._given(step, node.id)
        if isinstance(node, ast.Attribute):
            return self._named(step) or self._attribute(step, node)
        if isinstance(node, ast.Subscript):
            return self._named(step) or [_holder(step, node.value, _key(node))]
        if isinstance(node, ast.Call):
            return self._call(step, node, device)
        if isinstance(node, (ast.NamedExpr, ast.Await)):
            return [replace(step, node=node.value)]
        if step.part is not None:
            return _displayed(step)
        joined = not isinstance(node, (ast.IfExp, ast.BoolOp))
        return self._joined(step, parts_of(node), device, straight=joined)

    def _joined(self, step: Step, nodes: Sequence[ast.AST | None], device: str, straight: bool = True) -> list[Step]:
        """The tensors among what an expression is made from."""
        kept = [Step(node, step.spot) for node in nodes if node is not None and _may_be_tensor(node, step.spot)]
        kept = [each for each in kept if not self._is_elsewhere(each, device)]
        return [replace(each, straight=step.straight and straight and len(kept) == 1) for each in kept]

    def _named(self, step: Step) -> list[Step]:
        """What the function itself gave to a name, an attribute or an element, last before the spot."""
        whole = step.part is None and is_tensor(step.spot.value(step.node))
        assigned = step.spot.last_given(ast.unparse(step.node), whole=whole)
        if assigned is None:
            return []
        value, is_element = assigned
        before = step.spot.before(value)
        if is_element or isinstance(value, ast.Tuple):  # of a loop, of what was unpacked
            return [replace(step, node=value, spot=before, part="", straight=False)]
        return [replace(step, node=value, spot=before)]

    def _given(self, step: Step, name: str) -> list[Step]:
        """What the caller gave for a parameter; what the function or the file around gave to the name."""
        spot = step.spot
        if name in spot.bound:
            argument, caller = spot.bound[name]
            return [replace(step, node=argument, spot=caller)]
        if name == "self" and spot.called_at is not None:
            receiver = receiver_of(spot)
            return [replace(step, node=receiver[0], spot=receiver[1])] if receiver is not None else []
        if spot.frame is None:
            given = given_at_only_call(spot, name)
            return [replace(step, node=given[0], spot=given[1])] if given is not None else self._global(step)
        code = spot.frame.code
        if name in code.co_freevars:
            outer = spot.enclosing()
            return self._named(replace(step, spot=outer)) if outer is not None else []
        if name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            return self._of_caller(step, name)
        return [] if name in code.co_varnames else self._global(step)

    def _of_caller(self, step: Step, name: str) -> list[Step]:
        expression: Expression | None = Expression(ast.Name(name, ast.Load()))
        for number in range(step.spot.number - 1, -1, -1):
            caller = self.frames[number]
            assert expression is not None
            expression = step_out(expression, self.frames[number + 1], caller)
            if expression is None:
                return []
            whole = isinstance(expression.node, ast.Name) and expression.node.id in caller.varargs  # of a wrapper
            if not whole and place_of(caller).package not in ("torch", "python", "accelerate"):
                held = expression.path
                part = step.part if not held else str(held[0].key) if len(held) == 1 and step.part is None else ""
                return [replace(step, node=expression.node, spot=spot_of(self.frames, number), part=part)]
        return []

    def _global(self, step: Step) -> list[Step]:
        whole = module_spot(step.spot) if step.spot.function != "<module>" else None
        return self._named(replace(step, spot=whole)) if whole is not None else []

    def _attribute(self, step: Step, node: ast.Attribute) -> list[Step]:
        found: list[Step] = []
        for method, value in stores_of(node, step.spot):
            # The method's own statements about the attribute count, and what it gave to it.
            given = ast.copy_location(ast.Attribute(ast.Name("self", ast.Load()), node.attr, ast.Load()), value)
            found.append(replace(step, node=given, spot=method))
        if found:
            return [*found, _holder(step, node.value, node.attr)]
        for kind in kinds_of(node.value, step.spot):
            field = field_at_only_call(kind, node.attr, step.spot)
            if field is not None:
                return [_holder(step, node.value, node.attr), replace(step, node=field[0], spot=field[1])]
        if node.attr in _SAME_PLACE and not is_module(step.spot.value(node.value)):
            return [replace(step, node=node.value)]
        return [] if step.spot.is_namespace(node.value) else [_holder(step, node.value, node.attr)]

    def _call(self, step: Step, call: ast.Call, device: str) -> list[Step]:
        said, spot, method = said_by(call), step.spot, call.func
        if said.is_factory:
            return []
        called = spot.value(method)
        if is_module(called):  # of the program's, whose forward hands on what it has made
            forward = ast.Attribute(method, "forward", ast.Load())
            call = ast.copy_location(ast.Call(ast.copy_location(forward, call), call.args, call.keywords), call)
        own = function_called(call, spot)
        if own is not None:
            returned = [value for value in own.returns() if value is not None] if is_own(own) else []
            one = step.straight and len(returned) == 1
            return [replace(step, node=value, spot=own.before(value), straight=one) for value in returned]
        if isinstance(called, type) and step.part:
            return _constructed(step, call, called)
        if is_module(called) or not isinstance(method, ast.Attribute):
            return []
        if method.attr in MOVES and said.device is not None:
            return [] if step.part is None else [replace(step, node=method.value)]
        if method.attr in _TAKES_OUT and call.args:
            return [_holder(step, method.value, str(getattr(call.args[0], "value", "")))]
        inside = [*call.args, *(word.value for word in call.keywords if word.arg)]
        if isinstance(held := spot.value(method.value), types.ModuleType):
            is_torch = held.__name__.split(".")[0] == "torch" and step.part is None
            listed = [each for node in inside for each in (parts_of(node) or [node])]
            return self._joined(step, listed, device) if is_torch else []
        if step.part is not None or not _is_method_of_tensors(method.attr) or is_module(held):
            return []
        # What a method makes is where its tensor is; but what else it was given is on the way, too.
        others = self._joined(replace(step, straight=False), inside, device)
        return [*self._joined(step, [method.value], device), *others]


def function_called(call: ast.Call, spot: Spot) -> Spot | None:
    """As ``function_of``; of an object that the line itself makes, ``Batch(x).to(d)``, it finds the method, too."""
    made = call.func.value if isinstance(call.func, ast.Attribute) else None
    kind = made.func if isinstance(made, ast.Call) else None
    if kind is None or not isinstance(spot.value(kind), type):
        return function_of(call, spot)
    method = ast.copy_location(ast.Attribute(kind, call.func.attr, ast.Load()), call)  # type: ignore[attr-defined]
    own = function_of(ast.copy_location(ast.Call(method, call.args, call.keywords), call), spot)
    return replace(own, called_at=(call, spot)) if own is not None else None


def receiver_of(spot: Spot) -> tuple[ast.expr, Spot] | None:
    """Returns the object whose method was called to come to ``spot``, and where the call stands; or None."""
    call, caller = spot.called_at if spot.called_at is not None else (None, None)
    if caller is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    return call.func.value, caller.before(call)


def is_own(spot: Spot) -> bool:
    """Returns whether it is in a file of the program's."""
    return package_of(spot.file) == ""


def _holder(step: Step, node: ast.AST, part: str) -> Step:
    """The step to what holds the tensor; a tensor's own subscript is where the whole is."""
    held = step.spot.value(node)
    whole = is_tensor(held) or (held is MISSING and part == "" and step.part is None)
    return replace(step, node=node, part=None if whole else part if step.part is None else "")


def _key(node: ast.Subscript) -> str:
    return node.slice.value if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) else ""


def _displayed(step: Step) -> list[Step]:
    """The tensor in a dictionary that is written out."""
    if not isinstance(step.node, ast.Dict) or not step.part:
        return []
    pairs = zip(step.node.keys, step.node.values, strict=True)
    return [replace(step, node=value, part=None) for key, value in pairs if getattr(key, "value", None) == step.part]


def _constructed(step: Step, call: ast.Call, kind: type) -> list[Step]:
    """What a constructor was given for the field that holds the tensor."""
    fields = [each.name for each in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    fields = fields or list(getattr(kind, "_fields", ()))
    given = dict(zip(fields, call.args, strict=False)) | {word.arg: word.value for word in call.keywords if word.arg}
    node = given.get(str(step.part))
    return [replace(step, node=node, part=None)] if node is not None else []


def _may_be_tensor(node: ast.AST, spot: Spot) -> bool:
    if is_number(node) or isinstance(node, ast.Starred):
        return False
    value = spot.value(node)
    return value is MISSING or is_tensor(value)


def _is_method_of_tensors(name: str) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and getattr(torch.Tensor, name, None) is not None
