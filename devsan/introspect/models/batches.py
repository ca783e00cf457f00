"""A batch of which a part is on another device, and a tensor of it that was left behind: on the host, as a rule."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from devsan.installed import class_file, installed_as, is_library
from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.tensors import is_module, is_tensor, memory_of
from devsan.introspect.frames.values import is_a
from devsan.introspect.models.referrers import tensors_within
from devsan.introspect.source.sources import bindings_in, tree_of

_DEEP = 3  # steps into a container
_MOST = 512  # tensors and containers of one


def left_in(tensor: Any, memory: int, device: str, frames: Sequence[Frame]) -> tuple[str, str] | None:
    """Returns how a variable of the program reaches a tensor, and a part beside it that is on another GPU.

    ``batch.index[0]`` and ``batch.atoms``; None where no container has both. What is on a GPU was left behind only by
    an object with a ``to`` of its own, or by a function that was given the container to move it: a list may hold a
    tensor for each GPU. Of an object that nothing could move, because its class has no ``to``, the part is "".

    Args:
        tensor: None where no variable holds it: what a property or a method returned.
        memory: of the tensor; 0 where that is not known.
        device: of the tensor.
        frames: of the traceback, outermost first.
    """
    for frame in reversed(frames):
        if frame.whose is not Whose.PROGRAM:
            continue
        for name, value in list(frame.scope.locals.items()):
            immovable = device == "cpu" and name != "self" and _cannot_move(value)
            if not (immovable or (_is_batch(value) if device == "cpu" else _is_moved(name, value, frame))):
                continue
            left = [_MOST]
            held = list(tensors_within(value, name, _DEEP, left))
            own = next((path for path, each in held if each is tensor or (memory and memory_of(each) == memory)), None)
            moved = next((path for path, each in held if str(each.device) not in ("cpu", "meta", device)), None)
            if own is not None and (moved is not None or immovable):
                return own, moved or ""
    return None


def kept_in(tensor: Any, frames: Sequence[Frame]) -> str:
    """Returns how a variable of the program reaches a tensor that an object keeps which is no batch; "" for none.

    ``preview.noise``: a callback's, which nothing moves.
    """
    for frame in reversed(frames):
        for name, value in list(frame.scope.locals.items()) if frame.whose is Whose.PROGRAM else ():
            if name == "self" or not _is_object(value) or not _is_no_batch(value):
                continue
            for path, each in tensors_within(value, name, 1, [_MOST]):
                if each is tensor:
                    return path
    return ""


def _is_moved(name: str, value: Any, frame: Frame) -> bool:
    """Whether a variable's value moves itself as a whole, or was handed to what moves it."""
    return _moves_itself(value) or (_is_batch(value) and _is_handed_round(name, frame))


def _is_handed_round(name: str, frame: Frame) -> bool:
    """Whether a function of the program's gave a variable's own value back, moved: ``more = send(more, device)``.

    One that is also given a tensor computes with it, as a module does: ``cache = reorder(cache, beams)``.
    """
    for _, target, value, _ in bindings_in(tree_of(frame.code) or ast.Module([], [])):
        if target != name or not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
            continue
        itself = any(isinstance(each, ast.Name) and each.id == name for each in value.args)
        others = [frame.scope.value(each) for each in (value.func, *value.args)]
        if itself and len(value.args) > 1 and not any(is_tensor(each) or is_module(each) for each in others):
            return True
    return False


def _is_batch(value: Any) -> bool:
    """Whether it is made to hold data: a container of Python's, a dataclass, a class that is moved as tensors are."""
    kind = type(value)
    if is_a(value, dict, list, tuple):
        return True
    return not (is_tensor(value) or is_module(value)) and (dataclasses.is_dataclass(kind) or hasattr(kind, "to"))


def _cannot_move(value: Any) -> bool:
    """Whether it is an object of the program's with tensors, which those who move batches leave as it is."""
    return _is_object(value) and not _is_no_batch(value)


def _is_object(value: Any) -> bool:
    """Whether a class of the program's made it that has no ``to``."""
    kind = type(value)
    if is_a(value, dict, list, tuple) or is_tensor(value) or is_module(value) or hasattr(kind, "to"):
        return False
    file = class_file(kind)
    return file != "" and not is_library(file) and isinstance(getattr(value, "__dict__", None), dict)


def _is_no_batch(value: Any) -> bool:
    """Whether it holds a module (a trainer, an agent), or a library calls its methods (a callback)."""
    if any(is_module(held) for held in list(vars(value).values())):
        return True
    return any(installed_as(class_file(base)) for base in type(value).__mro__[:-1])


def _moves_itself(value: Any) -> bool:
    """Whether its class has a ``to`` that the program wrote."""
    return not (is_tensor(value) or is_module(value)) and isinstance(getattr(type(value), "to", None), FunctionType)
