"""The device that an expression of the program names: "cuda:1" for `self.device`, where variables and source tell.

Nothing is run: a property is read as the one expression that it returns, and the device of a model's first parameter
is looked up in the dictionaries of its modules.
"""

from __future__ import annotations

import ast
import os
import types
from dataclasses import dataclass, replace
from typing import Any

from devsan.introspect.frames.only_calls import given_at_only_call
from devsan.introspect.frames.scopes import Spot, kinds_of
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import MISSING, Step, own_dict, part
from devsan.introspect.models.models import members
from devsan.introspect.provenance.way import receiver_of
from devsan.introspect.source.sources import tree_of

_DEEPEST = 8


@dataclass(frozen=True)
class Named:
    """A device, and how a property says it.

    Attributes:
        device: "cuda:1", "cpu"; "cuda" for the current GPU.
        value: the expression that a property returns; "" where none was read.
        place: where that stands: "train.py:41".
    """

    device: str
    value: str = ""
    place: str = ""


def value_of(node: ast.AST | None, spot: Spot) -> object:
    """Returns what ``node`` stands for at ``spot``, as ``Spot.value`` and through the object whose method it is of."""
    found = spot.value(node)
    if found is not MISSING or not isinstance(node, (ast.Name, ast.Attribute)):
        return found
    if isinstance(node, ast.Attribute):
        return part(value_of(node.value, spot), Step(node.attr, is_attribute=True))
    if node.id in spot.bound and spot.last_given(node.id) is None:
        given, caller = spot.bound[node.id]
        return value_of(given, caller)
    if node.id != "self" or spot.frame is not None:
        return MISSING
    receiver = receiver_of(spot)
    held = value_of(*receiver) if receiver is not None else MISSING
    return next(kinds_of(node, spot), MISSING) if held is MISSING else held  # its class says what it has for all


def device_named(node: ast.AST | None, spot: Spot, left: int = _DEEPEST) -> Named | None:
    """Returns the device that ``node`` names at ``spot``; None where that is not known."""
    if node is None or left <= 0:
        return None
    value = value_of(node, spot)
    if type(value) is str or type(value).__name__ == "device":
        return Named(str(value))
    if type(value) is int:
        return Named(f"cuda:{value}")
    if isinstance(node, ast.Call):
        return _called(node, spot, left)
    if isinstance(node, ast.Name):
        if node.id in spot.bound and spot.last_given(node.id) is None:
            return device_named(*spot.bound[node.id], left - 1)
        assigned = spot.last_given(node.id)
        given = given_at_only_call(spot, node.id) if assigned is None and spot.frame is None else None
        if given is not None:
            return device_named(*given, left - 1)
        known = assigned is not None and not assigned[1]
        return device_named(assigned[0], spot.before(assigned[0]), left - 1) if known and assigned else None
    return _attribute(node, spot, left) if isinstance(node, ast.Attribute) else None


def _called(call: ast.Call, spot: Spot, left: int) -> Named | None:
    """``torch.device("cuda", 1)``."""
    if ast.unparse(call.func) not in ("torch.device", "device") or call.keywords:
        return None
    if len(call.args) == 1:
        return device_named(call.args[0], spot, left - 1)
    values = [value_of(each, spot) for each in call.args]
    return Named(f"{values[0]}:{values[1]}") if len(values) == 2 and MISSING not in values else None


def _attribute(node: ast.Attribute, spot: Spot, left: int) -> Named | None:
    if node.attr != "device":
        return _property(node, spot, left)
    if isinstance(node.value, ast.Call):  # next(self.parameters()).device
        given = node.value.args[0] if getattr(node.value.func, "id", "") == "next" and node.value.args else None
        method = given.func if isinstance(given, ast.Call) else None
        module = value_of(method.value, spot) if getattr(method, "attr", "") == "parameters" else MISSING  # type: ignore[union-attr]
        return _of_first_parameter(module)
    held = value_of(node.value, spot)
    if is_tensor(held):
        return Named(str(held.device))  # type: ignore[attr-defined]
    return _property(node, spot, left) or _of_first_parameter(held)  # a library's models have such a property


def _property(node: ast.Attribute, spot: Spot, left: int) -> Named | None:
    """What the program's property of this name returns, where it returns one expression."""
    for kind in kinds_of(node.value, spot):
        found = kind.__dict__.get(node.attr)
        getter = found.fget if isinstance(found, property) else None
        tree = tree_of(getter.__code__) if isinstance(getter, types.FunctionType) else None
        if getter is None or tree is None:
            continue
        inside = Spot(getter.__code__.co_filename, getter.__qualname__, tree, 1 << 30, globals=getter.__globals__,
                      bound={"self": (node.value, spot)})  # fmt: skip
        returned = [value for value in inside.returns() if value is not None]
        if len(returned) != 1:
            return None
        named = device_named(returned[0], inside.before(returned[0]), left - 1)
        place = f"{os.path.basename(inside.file)}:{returned[0].lineno}"
        return replace(named, value=ast.unparse(returned[0]), place=place) if named is not None else None
    return None


def _of_first_parameter(module: object) -> Named | None:
    """Where a module's first parameter is, in torch's order: its own, then those of its parts."""
    waiting: list[Any] = [module] if is_module(module) and "device" not in own_dict(module) else []
    while waiting:
        each = waiting.pop()
        for tensor in members(each, "_parameters").values():
            return Named(str(tensor.device))
        waiting += reversed(list(members(each, "_modules").values()))
    return None
