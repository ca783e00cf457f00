"""A call of every operator with two or more tensor operands, from every source."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch._ops import OpOverload

from .derived import derived, functional_forms
from .generated import functions, wrappers
from .handmade import handmade
from .recorded import record
from .schema import Call, name_of, operators, tensor_count
from .synthesized import synthesized


def wanted() -> list[OpOverload]:
    """Every aten operator of native_functions.yaml that takes two tensors or more."""
    return [op for op in operators() if name_of(op) in functions() and tensor_count(op) > 1]


def samples(most: int) -> dict[str, Call]:
    """By name: a call of each wanted operator for which there is one.

    `most`: how many samples of each of torch's own entries are run.
    """
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls = record(most)
        for call in handmade():
            calls.setdefault(call.op, call)
        ops = wanted()
        for _ in range(2):
            for call in derived([op for op in ops if op not in calls], calls):
                calls[call.op] = call
        # In the quick run only what the generated check answers is made up.
        forms = functional_forms([op for op in ops if op not in calls]) if most > 1 else ()
        made_up = [*forms, *ops] if most > 1 else [op for op in ops if name_of(op) in wrappers()]
        for op in made_up:
            if op not in calls and (made := synthesized(op)) is not None:
                calls[op] = made
        for call in derived([op for op in ops if op not in calls], calls):
            calls[call.op] = call
    return {name_of(op): calls[op] for op in ops if op in calls}


def save(calls: dict[str, Call], path: Any) -> None:
    torch.save({name: (call.values, call.origin) for name, call in calls.items()}, path)


def load(path: Any) -> dict[str, Call]:
    found = {}
    for name, (values, origin) in torch.load(path, weights_only=False).items():
        base, _, overload = name.partition(".")
        found[name] = Call(getattr(getattr(torch.ops.aten, base), overload or "default"), values, origin)
    return found
