"""What has no numbers is not saved: a file of it would be large, and wrong for whoever loads it."""

from __future__ import annotations

import functools
import pickle
import sys
from collections.abc import Iterable
from typing import Any

from devsan import _core
from devsan.cuda.patches import Patches

SAFETENSORS = "safetensors.torch"

_FLATTEN = ("_flatten_as_ptr", "_flatten")  # what its functions that save begin with; the second before 0.7


def refuse(patches: Patches) -> None:
    """Has ``torch.save`` refuse tensors without numbers, before it opens a file; ``patches`` put it back."""
    torch: Any = sys.modules["torch"]
    save = torch.save

    @functools.wraps(save)
    def saved(obj: Any, *args: Any, **words: Any) -> None:
        _expect_numbers(_tensors_in(obj))
        save(obj, *args, **words)

    patches.set(torch, "save", saved)
    patches.set(torch.serialization, "save", saved)


def refuse_in_safetensors(module: Any, patches: Patches) -> None:
    """The same for safetensors, whose module is ``safetensors.torch``."""
    for name in _FLATTEN:
        if hasattr(module, name):
            patches.set(module, name, _expecting(getattr(module, name)))


def _expecting(flatten: Any) -> Any:
    @functools.wraps(flatten)
    def flattened(tensors: Any, *args: Any, **words: Any) -> Any:
        _expect_numbers(tensors.values())
        return flatten(tensors, *args, **words)

    return flattened


def _expect_numbers(tensors: Iterable[Any]) -> None:
    without = [each for each in tensors if _core.is_unknown(each)]
    if without:
        size = sum(each.nbytes for each in without) / 2**30
        raise RuntimeError(
            f"devsan: expected tensors with numbers to save, got {len(without)} ({size:.2f} GiB) that have none at "
            "full size; skip saving in a rehearsal, or run it without --full-size"
        )


def _tensors_in(obj: Any) -> list[Any]:
    """The tensors that pickling ``obj`` comes to; none where it cannot be pickled, which torch.save then says."""
    search = _Search(_Nowhere())
    try:
        search.dump(obj)
    except Exception:
        return []
    return search.found


class _Nowhere:
    def write(self, data: bytes) -> int:
        return len(data)


class _Search(pickle.Pickler):
    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.found: list[Any] = []

    def persistent_id(self, obj: Any) -> str | None:
        torch: Any = sys.modules["torch"]
        if isinstance(obj, torch.Tensor):
            self.found.append(obj)
            return "tensor"
        return "storage" if isinstance(obj, (torch.UntypedStorage, torch.storage.TypedStorage)) else None
