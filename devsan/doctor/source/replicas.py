"""DataParallel: the module runs on its first GPU, and a copy of it on the others.

torch/nn/parallel/replicate.py copies parameters and buffers to each GPU, and what is no module as it is: a plain tensor
stays on the first one. torch/nn/parallel/parallel_apply.py makes each replica's GPU the current one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from devsan.doctor.source.objects import Object, copied, move
from devsan.doctor.source.places import Where
from devsan.doctor.source.values import UNKNOWN, Sequence, Table, Tensor, Value

if TYPE_CHECKING:
    from devsan.doctor.source.arguments import Arguments
    from devsan.doctor.source.interpreter import Interpreter


def call(
    run: Interpreter, holder: Object, given: Arguments, forward: Callable[[Interpreter, Object, Arguments], Value]
) -> Value:
    """Returns what a DataParallel gives; its second replica is followed as well. ``forward`` calls a module."""
    inner = holder.state.children[0] if holder.state.children else UNKNOWN
    ids = holder.state.ids
    if not isinstance(inner, Object) or inner.state.facts is None or not inner.state.is_module or run.replica:
        return UNKNOWN
    if inner.state.map is not None or len(ids) == 1:
        return UNKNOWN
    first, second = (Where("gpu", number) for number in (ids[:2] if len(ids) > 1 else (0, 1)))
    value: Value = UNKNOWN
    process = run.process
    for number, module in ((first, inner), (second, copied(inner))):
        if number == second and isinstance(module, Object):
            move(module, second)
        run.replica = number == second
        run.process = replace(process, current=number)
        values, named = given.values, given.named
        given.values = [_scattered(each, number) for each in values]
        given.named = {name: _scattered(each, number) for name, each in named.items()}
        try:
            made = forward(run, module, given) if isinstance(module, Object) else UNKNOWN
        finally:
            given.values, given.named = values, named
            run.replica, run.process = False, process
        value = made if number == first else value
    return _scattered(value, first)


def _scattered(value: Value, where: Where) -> Value:
    if isinstance(value, Tensor):
        return replace(value, where=where, how="placed", made=None, plain="")
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(_scattered(each, where) for each in value.items)
        return Sequence(items, _scattered(value.element, where))
    if isinstance(value, Table):
        return replace(value, items=tuple((key, _scattered(each, where)) for key, each in value.items))
    return value
