"""CUDA IPC: emulated tensors between processes, through POSIX shared memory.

On a real GPU the receiver maps the sender's device memory. Here the sender's bytes move into shared memory when they
are shared for the first time, as CPU tensors do in torch's own ``file_system`` strategy, and the receiver maps that.
Writes are seen on both sides. Only the sender is charged for the memory: on a real GPU it is there once.

NOTE [The manager of shared memory] The first process that makes such memory starts torch_shm_manager, which lives as
long as any process that has seen its memory (torch/lib/libshm/core.cpp, manager.cpp). Between fork and exec nothing is
closed there. A child of multiprocessing's spawn holds its parent's sentinel as a descriptor that an exec keeps; the
parent takes the child for dead when the last copy of it is closed. With a copy in a manager that the parent itself
keeps alive, ``mp.spawn(...).join()`` would wait for itself. So a manager is started while no descriptor survives an
exec.
"""

from __future__ import annotations

import functools
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from devsan import _core
from devsan.cuda.patches import Patches

_Handles = tuple[int, "bytes | None", int, int, bytes, int, bytes, bool]


def install(patches: Patches) -> None:
    """Puts the methods onto ``torch.UntypedStorage``; torch/multiprocessing/reductions.py calls them."""
    for name, method in _METHODS.items():
        patches.set(torch.UntypedStorage, name, method)


def _share_cuda(self: torch.UntypedStorage) -> _Handles:
    """Device, handle, size, offset; then the reference counter and the event, which have nothing to do here."""
    if self.device.type != "cuda":  # torch/csrc/StorageSharing.cpp
        raise RuntimeError("_share_cuda_: only available on CUDA")
    device, size = self.get_device(), self.nbytes()
    handle = None
    if size > 0:
        home = _shared_home(self)
        handle = pickle.dumps(home._share_filename_cpu_())
        home._shared_incref()  # until the receiver has it: the sender may drop the tensor before
    return device, handle, size, 0, b"", 0, b"", False


def _shared_home(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    host = _core.host_storage(storage)
    if host.is_shared():
        return host  # received from another process
    home = _core.storage_home(storage)
    if home is None:
        _start_manager()
        home = torch.UntypedStorage._new_using_filename_cpu(storage.nbytes())
        _core.move_storage(storage, home)
    return home


@functools.cache
def _start_manager() -> None:
    """Has torch start its manager now, if this process knows none. A child that is forked later knows its parent's."""
    with _nothing_survives_exec():
        torch.UntypedStorage._new_using_filename_cpu(1)


@contextmanager
def _nothing_survives_exec() -> Iterator[None]:
    """Closes every descriptor but the standard streams on exec, for a moment. Where /proc is missing, does nothing."""
    changed: list[tuple[int, tuple[int, int]]] = []
    for entry in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(OSError):  # that of the folder itself is closed by now
            if (number := int(entry)) > 2 and os.get_inheritable(number):
                os.set_inheritable(number, False)
                changed.append((number, _file(number)))
    try:
        yield
    finally:
        for number, file in changed:
            with suppress(OSError):
                if _file(number) == file:  # another thread may have closed it, and its number gone to another file
                    os.set_inheritable(number, True)


def _file(number: int) -> tuple[int, int]:
    status = os.fstat(number)
    return status.st_dev, status.st_ino


def _new_shared_cuda(
    cls: type,
    device: Any,
    handle: bytes,
    size: int,
    offset: int,
    counter_handle: bytes,
    counter_offset: int,
    event_handle: bytes,
    event_sync_required: bool,
) -> torch.UntypedStorage:
    ordinal = torch.device(device).index if isinstance(device, (str, torch.device)) else device
    _core.check_device(ordinal)
    home = torch.UntypedStorage._new_shared_filename_cpu(*pickle.loads(handle))
    home._shared_decref()
    return _core.wrap_storage(home, ordinal)


def _release_ipc_counter_cuda(cls: type, *args: Any, **kwargs: Any) -> None:
    """Nothing to release: shared memory counts its users itself."""


_METHODS: dict[str, Callable[..., Any] | classmethod[Any, Any, Any]] = {
    "_share_cuda_": _share_cuda,
    "_new_shared_cuda": classmethod(_new_shared_cuda),
    "_release_ipc_counter_cuda": classmethod(_release_ipc_counter_cuda),
}
