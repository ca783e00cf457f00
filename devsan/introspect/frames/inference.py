"""Where the tensor of an expression is, told from its parts: ``labels[..., 1:].view(-1)`` is where ``labels`` is.

Only for expressions whose value nobody kept. It knows which of torch's methods move a tensor; everything else that is
called on a tensor leaves its device alone. Where it cannot be sure it says nothing.
"""

from __future__ import annotations

import ast
import sys
from types import ModuleType

from devsan.diagnostics.placement import Placement
from devsan.diagnostics.torch_names import CASTS, FACTORIES, MODULE_MOVES
from devsan.introspect.frames.tensors import is_tensor, placement_of
from devsan.introspect.frames.values import MISSING, Scope, is_a

_MOVES = MODULE_MOVES | CASTS | {"pin_memory"}
_ON_DEFAULT = FACTORIES | {"tensor", "from_numpy"}
_NUMBERS = frozenset({"size", "stride", "item", "tolist", "numpy", "dim", "numel", "nelement", "get_device", "data_ptr",
                      "element_size", "is_contiguous", "equal", "is_floating_point", "ndimension"})  # fmt: skip
_TUPLES = frozenset({"split", "chunk", "unbind", "max", "min", "topk", "sort", "nonzero", "backward"})
NOT_TENSORS = _NUMBERS | _TUPLES
_KEEP = frozenset({"T", "mT", "H", "mH", "data", "real", "imag", "grad"})
_NAMESPACES = frozenset({"torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"})


def infer(node: ast.AST, scope: Scope) -> Placement | None:
    """Returns where the tensor that ``node`` makes is, as far as its text and the frame's variables tell."""
    value = scope.value(node)
    if value is not MISSING:
        return placement_of(value) if is_tensor(value) else None
    if isinstance(node, ast.Call):
        return _call(node, scope)
    if isinstance(node, ast.Attribute):
        return _device_of(node.value, scope) if node.attr in _KEEP else None
    if isinstance(node, ast.Subscript):
        return _device_of(node.value, scope)
    if isinstance(node, ast.UnaryOp):
        return infer(node.operand, scope)
    if isinstance(node, ast.BinOp):
        return _common([node.left, node.right], scope)
    if isinstance(node, ast.Compare):
        return _common([node.left, *node.comparators], scope)
    return None


def is_number(node: ast.AST, scope: Scope | None = None) -> bool:
    """Returns whether ``node`` surely makes no tensor: ``x.size(-1)``, ``1 / len(x)``, a constant.

    Args:
        node: an expression.
        scope: the variables that it reads: ``1 - decay`` is a number where ``decay`` is one.
    """
    if isinstance(node, ast.BinOp):
        return is_number(node.left, scope) and is_number(node.right, scope)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand, scope)
    if scope is not None and is_a(scope.value(node), int, float, complex):
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.attr in _NUMBERS
        return isinstance(node.func, ast.Name) and node.func.id in ("len", "int", "float", "bool", "str", "range")
    return isinstance(node, (ast.Constant, ast.JoinedStr, ast.Lambda))


def _call(call: ast.Call, scope: Scope) -> Placement | None:
    if not isinstance(call.func, ast.Attribute):
        return None
    name = call.func.attr
    namespace = scope.value(call.func.value)
    if isinstance(namespace, ModuleType):
        if namespace.__name__ not in _NAMESPACES or name.startswith("_"):
            return None
        return _function(name, call, scope)
    receiver = infer(call.func.value, scope)
    if receiver is None or name in NOT_TENSORS:
        return None
    if name not in _MOVES:
        device = next((word.value for word in call.keywords if word.arg == "device"), None)  # new_zeros(..., device=d)
        return Placement(receiver.device) if device is None else _named(device, scope)
    return _moved(name, call, scope)


def _moved(name: str, call: ast.Call, scope: Scope) -> Placement | None:
    if name in ("cpu", "pin_memory"):
        return Placement("cpu")
    targets = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "device")]
    if name == "cuda" and targets:
        index = scope.value(targets[0])
        if type(index) is int:
            return Placement(f"cuda:{index}")
    return _named(targets[0], scope) if targets and name in ("to", "cuda") else None


def _function(name: str, call: ast.Call, scope: Scope) -> Placement | None:
    device = next((word.value for word in call.keywords if word.arg == "device"), None)
    if device is not None:
        return _named(device, scope)
    if name in _ON_DEFAULT:
        return _default()
    if name in NOT_TENSORS:
        return None
    first = call.args[0] if call.args else None
    return _device_of(first, scope) if first is not None else None


def _default() -> Placement | None:
    torch = sys.modules.get("torch")
    try:
        return Placement(str(torch.get_default_device())) if torch is not None else None
    except Exception:
        return None


def _named(node: ast.AST, scope: Scope) -> Placement | None:
    """Returns the device that a ``device=`` argument names: a text, a torch.device, another tensor or its .device."""
    if isinstance(node, ast.Attribute) and node.attr == "device":
        like = infer(node.value, scope)
        if like is not None:
            return Placement(like.device)
    value = scope.value(node)
    torch = sys.modules.get("torch")
    if torch is None or value is MISSING:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "device":
            return _named(node.args[0], scope) if len(node.args) == 1 and not node.keywords else None
        return None
    if type(value) is torch.device or (type(value) is str and value.split(":")[0] in ("cpu", "cuda", "meta")):
        return Placement(str(value))
    if type(value) is int:
        return Placement(f"cuda:{value}")
    return Placement(str(value.device)) if is_tensor(value) else None  # type: ignore[attr-defined]


def _device_of(node: ast.AST, scope: Scope) -> Placement | None:
    found = infer(node, scope)
    return None if found is None else Placement(found.device)


def _common(nodes: list[ast.expr], scope: Scope) -> Placement | None:
    found = [place for place in (infer(node, scope) for node in nodes) if place is not None]
    # a 0-dim tensor on the host joins one on a GPU
    found = [place for place in found if place.shape != () or place.device != "cpu"] or found
    devices = {place.device for place in found}
    if len(devices) != 1 or any(infer(node, scope) is None and not is_number(node, scope) for node in nodes):
        return None
    return Placement(devices.pop())
