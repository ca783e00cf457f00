"""Calls that need not make sense, of operators that no sample reaches: of those whose generated check compares every
operand, so that no arrangement of the matrix ever reaches the kernel; of those that CUDA does not have; and of those
that happen to take what is made up here."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch._ops import OpOverload

from .generated import functions, is_missing_on_cuda, wrappers
from .schema import Call, is_tensor, name_of

VALUES = {
    "int": 1,
    "float": 1.0,
    "number": 1,
    "bool": False,
    "str": "sum",
    "List[float]": [1.0, 1.0],
    "Device": torch.device("cpu"),
    "Storage": torch.ones(4).untyped_storage(),
    "ScalarType": torch.float32,
}


def value_for(argument: Any, dtype: torch.dtype) -> Any:
    kind = str(argument.type)
    if kind == "List[Tensor]" or kind == "List[Optional[Tensor]]":
        return [torch.ones(2, 2, dtype=dtype), torch.ones(2, 2, dtype=dtype)]
    if is_tensor(argument):
        return torch.ones(2, 2, dtype=dtype)
    if kind in ("List[int]", "List[bool]"):
        return [1 if kind == "List[int]" else True] * (argument.N or 2)
    if kind.startswith("Optional") or argument.has_default_value():
        return argument.default_value
    return VALUES[kind]


def made_up(op: OpOverload, dtype: torch.dtype = torch.float32) -> Call | None:
    try:
        return Call(op, [value_for(a, dtype) for a in op._schema.arguments], "synthesized")
    except KeyError:  # a type that no operator had when this was written
        return None


def is_never_run(op: OpOverload) -> bool:
    """Whether no arrangement of a call gets as far as the kernel: CUDA has none, or its wrapper compares everything."""
    name = name_of(op)
    if name not in functions():
        return False
    wrapper = wrappers().get(name)
    tensors = {a.name for a in op._schema.arguments if is_tensor(a)}
    return (wrapper is not None and set(wrapper.checked) == tensors) or is_missing_on_cuda(name)


def is_robust(op: OpOverload) -> bool:
    """Whether its kernel looks at its arguments before it uses them: those that have an out= form that torchgen wrote
    are meant to be called; composites of backward passes are not."""
    function = functions().get(name_of(op))
    return function is not None and bool(function.autogen) and not function.has_composite_implicit_autograd_kernel


def synthesized(op: OpOverload) -> Call | None:
    """A call of `op`, or None where its kernel would have to make sense of it."""
    if is_never_run(op):
        return made_up(op)
    if not is_robust(op):
        return None
    for dtype in (torch.float32, torch.int64, torch.bool):
        call = made_up(op, dtype)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if call is not None and call.run(call.mapped(lambda _, tensor: tensor.clone())) is not NotImplemented:
                    return call
        except Exception:  # its kernel wants other arguments
            continue
    return None
