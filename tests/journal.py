"""What a program did on emulated GPUs, so that runs of it with and without numbers can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from devsan import _core

Line = tuple[Any, ...]


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    return (each for each in tree_leaves(values) if isinstance(each, torch.Tensor))


class Journal(TorchDispatchMode):
    """What each operator returned, and where; and the memory of each GPU behind it.

    Args:
        gpus: of how many the memory is told; 0 where the order between GPUs may change.
        of_gpus: leave out operators that have no tensor of a GPU, as those of an import.
    """

    def __init__(self, gpus: int = 0, of_gpus: bool = False) -> None:
        super().__init__()
        self.lines: list[Line] = []
        self._gpus, self._of_gpus = range(gpus), of_gpus

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [str(each.device) for each in _tensors((args, kwargs))]
        returned = func(*args, **(kwargs or {}))
        made = [(str(each.device), each.dtype, tuple(each.shape), *self._layout(each)) for each in _tensors(returned)]
        if not self._of_gpus or any("cuda" in device for device in (*given, *(each[0] for each in made))):
            self.note(str(func), given, made)
        return returned

    def _layout(self, tensor: torch.Tensor) -> tuple[Any, ...]:
        return (tensor.stride(), tensor.storage_offset()) if tensor.layout == torch.strided else (tensor.layout,)

    def note(self, what: str, *more: Any) -> None:
        """Writes a line of the program's own."""
        stats = [_core.memory_stats(index) for index in self._gpus]
        used = [(each["allocated_bytes"]["all"], each["reserved_bytes"]["all"]["current"]) for each in stats]
        self.lines.append((what, *more, [(held["current"], held["peak"], reserved) for held, reserved in used]))


# A frame that DevSan does not take for the program's, as those of Python's own machinery.
Journal.__torch_dispatch__.__code__ = Journal.__torch_dispatch__.__code__.replace(co_filename="<frozen journal>")
