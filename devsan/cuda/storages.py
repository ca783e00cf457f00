"""``torch.UntypedStorage`` on emulated GPUs: what torch compiles into it only in a CUDA build, or asks a driver for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from devsan import _core
from devsan.cuda.patches import Patches

_BASE = torch._C.StorageBase


def install(patches: Patches) -> None:
    """Puts the methods onto ``torch.UntypedStorage``. Storages elsewhere keep torch's own."""
    for name, method in _METHODS.items():
        patches.set(torch.UntypedStorage, name, method)


def cuda_ordinal(device: Any) -> int | None:
    """Returns the ordinal that ``device`` means, None if it is no GPU."""
    if device is None:
        return None
    device = torch.device(device)
    if device.type != "cuda":
        return None
    torch.cuda._lazy_init()
    return _core.current_device() if device.index is None else int(device.index)


@staticmethod  # type: ignore[misc]
def _new(cls: type, *args: Any, **kwargs: Any) -> Any:
    """As THPStorage_pynew in torch/csrc/Storage.cpp: a size, a sequence of bytes, or nothing."""
    ordinal = cuda_ordinal(kwargs.get("device"))
    if ordinal is None:
        return _BASE.__new__(cls, *args, **kwargs)
    content = args[0] if args else kwargs.get("size", 0)
    if isinstance(content, int):
        if content < 0:
            raise RuntimeError(f"Storage size must be non-negative, got: {content}")
        return _core.new_storage(content, ordinal)
    host = _BASE.__new__(torch.UntypedStorage, content)
    storage = _core.new_storage(host.nbytes(), ordinal)
    storage.copy_(host)
    return storage


def _resize(self: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
    if self.device.type != "cuda":
        return _BASE.resize_(self, size)
    _core.resize_storage(self, int(size))
    return self


def _write_file(self: torch.UntypedStorage, *args: Any) -> Any:
    return _BASE._write_file(_core.host_storage(self) if self.device.type == "cuda" else self, *args)


def _set_from_file(self: torch.UntypedStorage, *args: Any) -> Any:
    if self.device.type != "cuda":
        return _BASE._set_from_file(self, *args)
    _BASE._set_from_file(_core.host_storage(self), *args)
    return self


_METHODS: dict[str, Callable[..., Any]] = {
    "__new__": _new,
    "resize_": _resize,
    "_write_file": _write_file,
    "_set_from_file": _set_from_file,
}
