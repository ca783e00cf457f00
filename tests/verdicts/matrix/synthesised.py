"""Calls that need not make sense: of operators whose generated check compares every operand, so that no arrangement of
the matrix ever reaches the kernel. Many of these kernels only CUDA has."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload

from .generated import wrappers
from .schema import Call, is_tensor, name_of

VALUES = {
    "int": 1,
    "float": 1.0,
    "number": 1,
    "bool": False,
    "str": "sum",
    "List[float]": [1.0, 1.0],
    "Device": torch.device("cpu"),
}


def value_for(argument: Any) -> Any:
    kind = str(argument.type)
    if kind == "List[Tensor]" or kind == "List[Optional[Tensor]]":
        return [torch.ones(2, 2), torch.ones(2, 2)]
    if is_tensor(argument):
        return torch.ones(2, 2)
    if kind in ("List[int]", "List[bool]"):
        return [1 if kind == "List[int]" else True] * (argument.N or 2)
    if kind.startswith("Optional") or argument.has_default_value():
        return argument.default_value
    return VALUES[kind]


def synthesised(op: OpOverload) -> Call | None:
    """A call of `op`, or None where its wrapper leaves an operand unchecked."""
    wrapper = wrappers().get(name_of(op))
    tensors = {a.name for a in op._schema.arguments if is_tensor(a)}
    if wrapper is None or set(wrapper.checked) != tensors:
        return None
    try:
        return Call(op, [value_for(a) for a in op._schema.arguments], "synthesised")
    except KeyError:  # a type that no operator had when this was written
        return None
