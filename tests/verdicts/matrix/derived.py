"""Calls of operators that no sample reaches, made from a call of the same operator in another form: out= and in-place
forms, aliases, the functional forms of operators that write."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch
from torch._ops import OpOverload

from .recorded import copy_of
from .schema import Call, is_tensor_list

Shape = tuple[tuple[str, str], ...]


def base_of(op: OpOverload) -> str:
    """The name that all forms of an operator share."""
    name = op.name()[len("aten::") :].partition(".")[0]
    if name.startswith("__"):
        return name.replace("__i", "__")
    return re.sub(r"(_functional|_copy|_out)$", "", name.rstrip("_")) or name


def shape_of(op: OpOverload) -> Shape:
    """The arguments that are not out=, as names and types."""
    return tuple((a.name, str(a.type)) for a in op._schema.arguments if not a.is_out)


def result_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def outs_of(call: Call, op: OpOverload) -> dict[str, Any] | None:
    """A tensor of the right size and type for each out= argument, or None."""
    names = [a for a in op._schema.arguments if a.is_out]
    if not names:
        return {}
    result = call.run(call.mapped(lambda _, tensor: tensor.clone()))
    if is_tensor_list(names[0]):
        return {names[0].name: [torch.empty_like(t) for t in result_list(result)]}
    results = result_list(result)
    if len(results) != len(names) or not all(isinstance(r, torch.Tensor) for r in results):
        return None
    return {a.name: torch.empty_like(r) for a, r in zip(names, results, strict=True)}


def derive(op: OpOverload, source: Call) -> Call | None:
    """The call of `op` with the arguments of `source`, if it runs on the CPU."""
    try:
        outs = outs_of(source, op)
        if outs is None:
            return None
        values = {a.name: v for a, v in zip(source.op._schema.arguments, source.values, strict=True)}
        made = []
        for argument in op._schema.arguments:
            value = outs[argument.name] if argument.is_out else values[argument.name]
            made.append([copy_of(v) for v in value] if isinstance(value, (list, tuple)) else copy_of(value))
        call = Call(op, made, f"derived from {source.op.name()}")
        call.run(call.mapped(lambda _, tensor: tensor.clone()))
    except Exception:  # the result does not fit in place, the form has no CPU kernel
        return None
    return call


def derived(missing: list[OpOverload], calls: dict[OpOverload, Call]) -> Iterator[Call]:
    """Calls of as many of the missing operators as have a relative in `calls`."""
    relatives: dict[tuple[str, Shape], list[Call]] = defaultdict(list)
    for call in calls.values():
        relatives[base_of(call.op), shape_of(call.op)].append(call)
    for op in missing:
        for source in relatives[base_of(op), shape_of(op)]:
            call = derive(op, source)
            if call is not None:
                yield call
                break
