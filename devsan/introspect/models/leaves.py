"""The parameter whose gradient an operand is: LBFGS and its like join gradients, under names of their own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.tensors import is_tensor, memory_of
from devsan.introspect.frames.values import own_dict
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


def held_as(tensor: Any, frames: Sequence[Frame]) -> tuple[int, ast.expr] | None:
    """Returns the variable of the program's own frames that holds ``tensor``, or the attribute of one; or None.

    The innermost frame's is taken, with its number.
    """
    for number in reversed(range(len(frames))):
        frame = frames[number]
        for name, value in list(frame.scope.locals.items()) if frame.whose is Whose.PROGRAM else ():
            if value is tensor:
                return number, ast.Name(name, ast.Load())
            for attribute, held in list(own_dict(value).items()):
                if held is tensor:
                    return number, ast.Attribute(ast.Name(name, ast.Load()), attribute, ast.Load())
    return None
