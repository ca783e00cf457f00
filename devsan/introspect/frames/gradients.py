"""The gradient that autograd refused: what the program's own function returned, assigned, or began a pass with."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from typing import Any

from devsan.introspect.frames.error_match import Sentence
from devsan.introspect.frames.expressions import Expression
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.scopes import Spot, methods_of, spot_of_code
from devsan.introspect.frames.tensors import is_tensor

_FUNCTION = re.compile(r"Function (\w+)Backward\b.* at index (\d+)")


@dataclass(frozen=True)
class Returned:
    """What a ``backward`` returned as the refused gradient.

    Attributes:
        value: the expression.
        spot: where it stands.
        of: the parameter of ``forward`` that it is the gradient of; "" when that is not named.
    """

    value: ast.expr
    spot: Spot
    of: str = ""


def returned_by(sentence: Sentence) -> Returned | None:
    """Returns what ``backward`` returned as the refused gradient; None for torch's own functions."""
    found = _FUNCTION.search(sentence.text)
    autograd: Any = sys.modules.get("torch.autograd")
    if found is None or autograd is None:
        return None
    for kind in _below(autograd.Function):
        if kind.__name__ != found[1]:
            continue
        for code in methods_of(kind):
            spot = spot_of_code(code) if code.co_name == "backward" else None
            values = [value for value in spot.returns() if value is not None] if spot is not None else []
            if spot is None or not values:
                continue
            value, index = values[0], int(found[2])
            if isinstance(value, ast.Tuple):
                value = value.elts[min(index, len(value.elts) - 1)]
            return Returned(value, spot.before(value), _parameter(kind, index))
    return None


def gradient_assigned(frame: Frame) -> list[Expression]:
    """Returns the tensor and its gradient where ``frame`` assigns one by hand: ``master.grad = p.grad.float()``."""
    node: Any = frame.node
    while node is not None and not isinstance(node, ast.Assign):
        node = getattr(node, "parent", None)  # executing keeps parents
    if node is None or len(node.targets) != 1:
        return []
    target = node.targets[0]
    if not isinstance(target, ast.Attribute) or target.attr not in ("grad", "data"):
        return []
    return [Expression(target.value), Expression(node.value)]


def gradient_given(frame: Frame, index: int) -> list[Expression]:
    """Returns the root and its gradient where ``frame`` begins a backward pass: ``loss.backward(scale)``.

    Args:
        frame: of the call.
        index: of the gradient that was refused.
    """
    call = frame.node
    if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Attribute, ast.Name)):
        return []
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
    named = {each.arg: each.value for each in call.keywords}
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if name == "grad":  # torch.autograd.grad(outputs, inputs, grad_outputs)
        root, given = _argument(call, 0, named.get("outputs")), _argument(call, 2, named.get("grad_outputs"))
    elif name == "backward" and owner is not None and is_tensor(frame.scope.value(owner)):
        root, given = owner, _argument(call, 0, named.get("gradient"))
    elif name == "backward":  # torch.autograd.backward(tensors, grad_tensors)
        root, given = _argument(call, 0, named.get("tensors")), _argument(call, 1, named.get("grad_tensors"))
    else:
        return []
    found = [_element(each, index) for each in (root, given)]
    return [Expression(each) for each in found if each is not None] if None not in found else []


def _argument(call: ast.Call, position: int, named: ast.expr | None) -> ast.expr | None:
    return named if named is not None or position >= len(call.args) else call.args[position]


def _element(value: ast.expr | None, index: int) -> ast.expr | None:
    if isinstance(value, (ast.List, ast.Tuple)):
        return value.elts[index] if index < len(value.elts) else None
    return value


def _parameter(kind: type, index: int) -> str:
    for code in methods_of(kind):
        if code.co_name == "forward":
            names = code.co_varnames[1 : code.co_argcount]  # after ctx
            return names[index] if index < len(names) else ""
    return ""


def _below(kind: type) -> list[type]:
    """The classes derived from ``kind``, the newest first."""
    found: list[type] = []
    derived: list[type] = type.__subclasses__(kind)
    for each in derived:
        found = [each, *_below(each), *found]
    return found
