"""A batch of which a part is on a GPU, and a tensor of it that was left on the host."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from devsan.introspect.frames.frames import Frame, Whose
from devsan.introspect.frames.tensors import is_module, is_tensor
from devsan.introspect.frames.values import is_a
from devsan.introspect.models.referrers import parts

_DEEP = 3  # steps into a container
_MOST = 512  # tensors and containers of one


def left_in(tensor: Any, frames: Sequence[Frame]) -> tuple[str, str] | None:
    """Returns how a variable of the program reaches ``tensor``, and a part beside it that is on a GPU.

    ``batch.index[0]`` and ``batch.atoms``; None where no container has both.

    Args:
        tensor: on the host.
        frames: of the traceback, outermost first.
    """
    for frame in reversed(frames):
        if frame.whose is not Whose.PROGRAM:
            continue
        for name, value in list(frame.scope.locals.items()):
            if not _is_batch(value):
                continue
            left = [_MOST]
            held = [(name + path, each) for path, each in _tensors(value, "", _DEEP, left)]
            own = next((path for path, each in held if each is tensor), None)
            moved = next((path for path, each in held if str(each.device).startswith("cuda")), None)
            if own is not None and moved is not None:
                return own, moved
    return None


def _is_batch(value: Any) -> bool:
    """Whether it is made to hold data: a container of Python's, a dataclass, a class that is moved as tensors are."""
    kind = type(value)
    if is_a(value, dict, list, tuple):
        return True
    return not (is_tensor(value) or is_module(value)) and (dataclasses.is_dataclass(kind) or hasattr(kind, "to"))


def _tensors(value: Any, path: str, deep: int, left: list[int]) -> Iterator[tuple[str, Any]]:
    for step, held in parts(value):
        left[0] -= 1
        if left[0] < 0:
            return
        if is_tensor(held):
            yield path + step, held
        elif deep > 1 and not is_module(held) and not isinstance(held, (str, bytes, int, float, type)):
            yield from _tensors(held, path + step, deep - 1, left)
