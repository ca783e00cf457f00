"""The parameter whose gradient an operand is: LBFGS and its like join gradients, under names of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from devsan.introspect.frames.tensors import is_tensor, memory_of
from devsan.introspect.models.referrers import parameters_of


def leaf_of(tensor: Any, optimizers: Sequence[Any]) -> Any:
    """Returns the parameter of one of ``optimizers`` whose gradient ``tensor`` is, or is a view of; or None."""
    memory = memory_of(tensor)
    for optimizer in optimizers:
        for parameter in parameters_of(optimizer):
            gradient = getattr(parameter, "grad", None) if is_tensor(parameter) else None
            if gradient is not None and memory is not None and memory_of(gradient) == memory:
                return parameter
    return None
