"""What has no numbers is not saved: a file of it would be large, and wrong for whoever loads it.

A job that saves at its end, as each Trainer does, still comes to its end: the file is not written, a file that is there
stays as it is, and one line says so.
"""

from __future__ import annotations

import functools
import inspect
import os
import pickle
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from devsan import _core
from devsan.cuda.patches import Patches
from devsan.cuda.rebinding import rebind
from devsan.diagnostics.messages import message
from devsan.render.amounts import amount
from devsan.render.notice import notice

SAFETENSORS = "safetensors.torch"
LIGHTNING = ("lightning.fabric.utilities.cloud_io", "lightning.fabric.plugins.io.torch_io",
             "lightning_fabric.utilities.cloud_io", "lightning_fabric.plugins.io.torch_io")  # fmt: skip
"""Where ``_atomic_save`` is, which has the bytes of a checkpoint in memory before it writes them."""

_FLATTEN = ("_flatten_as_ptr", "_flatten")  # what its functions that save begin with; the second before 0.7

_MARK = "_devsan_leaves_out"

_told: set[str] = set()
"""Folders of which a line was told."""


def leave_out(patches: Patches) -> None:
    """Has ``torch.save`` write no file that would hold tensors without numbers; ``patches`` put it back."""
    torch: Any = sys.modules["torch"]
    patches.set(torch, "save", _leaving_out(torch.save))
    patches.set(torch.serialization, "save", torch.save)


def leave_out_in_safetensors(module: Any, patches: Patches) -> None:
    """The same for safetensors, whose module is ``safetensors.torch``."""
    save = module.save_file
    rebind(patches, {id(save): _leaving_out(save)})  # others may have imported it before full size began
    for name in _FLATTEN:
        if hasattr(module, name):
            patches.set(module, name, _expecting(getattr(module, name)))


def leave_out_in_lightning(module: Any, patches: Patches) -> None:
    """The same for a checkpoint of Lightning; ``module`` is one of ``LIGHTNING``."""
    patches.set(module, "_atomic_save", _leaving_out(module._atomic_save))


def _leaving_out(save: Any) -> Any:
    """A function that saves, whose file stays as it is where tensors without numbers would be in it."""
    if hasattr(save, _MARK):  # one module has it of another
        return save
    signature = inspect.signature(save)

    @functools.wraps(save)
    def saved(*args: Any, **words: Any) -> None:
        held, file = list(signature.bind(*args, **words).arguments.values())[:2]
        path = _path_of(file)
        without = _without_numbers(_tensors_in(held))
        if not without or path is None:
            _expect_numbers(without)
            save(*args, **words)
            return
        folder = os.path.dirname(path)
        if folder not in _told:
            _told.add(folder)
            notice(message("{path} is not written: {size} of it have no numbers at full size",
                           path=path, size=_size_of(without)))  # fmt: skip

    setattr(saved, _MARK, True)
    return saved


def _path_of(file: Any) -> str | None:
    """The path of what is written to; None for what is in memory, where something has to be written.

    torch.distributed.checkpoint wraps its files in what has them as ``raw`` (NoCloseWriter in its filesystem.py).
    """
    named = file if isinstance(file, (str, os.PathLike)) else getattr(getattr(file, "raw", file), "name", None)
    return os.fspath(named) if isinstance(named, (str, os.PathLike)) else None


def _expecting(flatten: Any) -> Any:
    @functools.wraps(flatten)
    def flattened(tensors: Any, *args: Any, **words: Any) -> Any:
        _expect_numbers(_without_numbers(tensors.values()))
        return flatten(tensors, *args, **words)

    return flattened


def _expect_numbers(without: Sequence[Any]) -> None:
    if without:
        raise RuntimeError(
            f"devsan: expected tensors with numbers to save in memory, got {len(without)} "
            f"({_size_of(without)}) that have none at full size; skip saving in a rehearsal, or run it without "
            "--full-size"
        )


def _without_numbers(tensors: Iterable[Any]) -> list[Any]:
    return [each for each in tensors if _core.is_unknown(each)]


def _size_of(tensors: Iterable[Any]) -> str:
    return amount(sum(each.nbytes for each in tensors))


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
