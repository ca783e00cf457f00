"""The qualified name of a module's tensor: ``model.layers.17.mlp.down_proj.weight``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.module_tree import tensors_below
from devsan.introspect.frames.tensors import is_module, is_tensor, same_memory
from devsan.introspect.frames.values import own_dict


def qualified_name(tensor: object, frames: Sequence[Frame]) -> str | None:
    """Returns the name of ``tensor`` under the outermost variable whose module tree holds it, or None.

    Looks at the variables of each frame and, one level down, at the attributes of what they hold (``trainer.model``).
    """
    if not is_tensor(tensor):
        return None
    searched: set[int] = set()
    views: list[str] = []  # of two models with one tensor, only one holds this object
    for frame in frames:
        for name, module in _roots(frame):
            if id(module) in searched:
                continue
            searched.add(id(module))
            for path, held in tensors_below(module):
                if held is tensor:
                    return ".".join((name, *path))
                if not views and same_memory(held, tensor):
                    views.append(".".join((name, *path)))
    return views[0] if views else None


def _roots(frame: Frame) -> Iterator[tuple[str, Any]]:
    variables = list(frame.scope.locals.items())
    yield from ((name, value) for name, value in variables if is_module(value))
    for name, value in variables:
        if not is_module(value) and not is_tensor(value) and not isinstance(value, type):
            members = list(own_dict(value).items())[:64]
            yield from ((f"{name}.{key}", member) for key, member in members if is_module(member))
