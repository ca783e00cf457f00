"""Calls of operators that no sample reaches, made from a call of the same operator in another form: out= and in-place
forms, aliases, the functional forms of operators that write."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch
from torch._ops import OpOverload
from torchgen.model import DispatchKey

from .generated import functions, has_kernel, is_composite
from .recorded import copy_of
from .schema import Call, is_tensor_list, name_of

NUMBERS = {"number": 2, "float": 2.0, "int": 2, "Optional[number]": 2, "Optional[float]": 2.0, "Optional[int]": 2}


def base_of(op: OpOverload) -> str:
    """The name that all forms of an operator share."""
    name = op.name()[len("aten::") :].partition(".")[0]
    if name.startswith("__"):
        return name.replace("__i", "__")
    return re.sub(r"(_functional|_copy|_out)$", "", name.rstrip("_")) or name


def result_list(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def outs_of(call: Call, op: OpOverload) -> dict[str, Any] | None:
    """A tensor of the right size and type for each out= argument, or None."""
    names = [a for a in op._schema.arguments if a.is_out]
    if not names:
        return {}
    if not runs_on_host(call.op):
        return {a.name: invented(a) for a in names}
    results = result_list(call.run(call.mapped(lambda _, tensor: tensor.clone())))
    if is_tensor_list(names[0]) and not isinstance(results[0], (list, tuple)):
        results = [results]
    outs = {a.name: like(r) for a, r in zip(names, results, strict=False)}
    return outs if len(outs) == len(names) and None not in outs.values() else None


def invented(argument: Any) -> Any:
    return [torch.empty(0), torch.empty(0)] if is_tensor_list(argument) else torch.empty(0)


def like(result: Any) -> Any:
    """Fresh tensors like a result, or None where it is none."""
    if isinstance(result, (list, tuple)):
        return [like(r) for r in result]
    return torch.empty_like(result) if isinstance(result, torch.Tensor) and result.layout == torch.strided else None


def runs_on_host(op: OpOverload) -> bool:
    """Whether the CPU has the operator; many calls are of kernels that only CUDA has."""
    name = name_of(op)
    return name not in functions() or is_composite(name) or has_kernel(name, DispatchKey.CPU)


def made_by(op: OpOverload, source: Call) -> dict[str, Any] | None:
    """The values of `source` for what `op` takes but for out=, a number in the place of a tensor; None if one lacks."""
    given = {a.name: (str(a.type), v) for a, v in zip(source.op._schema.arguments, source.values, strict=True)}
    values: dict[str, Any] = {}
    for argument in op._schema.arguments:
        kind = str(argument.type)
        if argument.is_out:
            continue
        known, value = given.get(argument.name, ("", None))
        if known == kind or (known and kind == f"Optional[{known}]") or known == f"Optional[{kind}]":
            values[argument.name] = [copy_of(v) for v in value] if isinstance(value, (list, tuple)) else copy_of(value)
        elif kind in NUMBERS and (known in NUMBERS or known == "Tensor"):
            values[argument.name] = NUMBERS[kind] if known == "Tensor" else value
        elif argument.has_default_value() or kind.startswith("Optional"):
            values[argument.name] = argument.default_value if argument.has_default_value() else None
        else:
            return None
    return values


def derive(op: OpOverload, source: Call) -> Call | None:
    """The call of `op` with the arguments of `source`, if it runs on the CPU, or the CPU has no such operator."""
    try:
        values = made_by(op, source)
        if values is None:
            return None
        functional = source
        if any(a.is_out for a in op._schema.arguments) and {*values} != {a.name for a in source.op._schema.arguments}:
            functional = functional_of(op, source, values)
        outs = outs_of(functional, op)
        if outs is None:
            return None
        call = Call(op, [{**values, **outs}[a.name] for a in op._schema.arguments], f"derived from {source.op.name()}")
        if runs_on_host(functional.op):
            call.run(call.mapped(lambda _, tensor: tensor.clone()))
    except Exception:  # the result does not fit in place, the form has no CPU kernel
        return None
    return call


def functional_of(op: OpOverload, source: Call, values: dict[str, Any]) -> Call:
    """A call that returns what `op` writes into its out= arguments."""
    form = functional_form(op)
    if form is None:
        return source
    filled = {a.name: a.default_value if a.has_default_value() else None for a in form._schema.arguments} | values
    return Call(form, [filled[a.name] for a in form._schema.arguments], source.origin)


def functional_form(op: OpOverload) -> OpOverload | None:
    """The operator that returns what `op` writes into its out= arguments, and takes the same others."""
    wanted = {a.name for a in op._schema.arguments if not a.is_out}
    for base in dict.fromkeys((name_of(op).partition(".")[0], base_of(op))):
        packet = getattr(torch.ops.aten, base, None)
        for overload in packet.overloads() if packet is not None else ():
            form: OpOverload = getattr(packet, overload)
            arguments = form._schema.arguments
            if not any(a.alias_info is not None for a in arguments) and {a.name for a in arguments} >= wanted:
                return form
    return None


def functional_forms(ops: list[OpOverload]) -> Iterator[OpOverload]:
    """The functional operators of those that have out= arguments."""
    for op in ops:
        form = functional_form(op) if any(a.is_out for a in op._schema.arguments) else None
        if form is not None:
            yield form


def derived(missing: list[OpOverload], calls: dict[OpOverload, Call]) -> Iterator[Call]:
    """Calls of as many of the missing operators as have a relative in `calls`; the nearest relative is tried first."""
    relatives: dict[str, list[Call]] = defaultdict(list)
    for call in calls.values():
        relatives[base_of(call.op)].append(call)
    for op in missing:
        names = {a.name for a in op._schema.arguments if not a.is_out}
        nearest = sorted(
            relatives[base_of(op)],
            key=lambda call: len(names ^ {a.name for a in call.op._schema.arguments if not a.is_out}),
        )
        for source in nearest:
            call = derive(op, source)
            if call is not None:
                yield call
                break
