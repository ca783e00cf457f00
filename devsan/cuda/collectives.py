"""``torch.distributed`` over "nccl": the backend of ``devsan._core`` in the places where torch keeps its own.

In a build of torch with CUDA these are torch's ProcessGroupNCCL and its like; they come back when the emulation ends.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NoReturn

import torch

from devsan import _core
from devsan.cuda.patches import Patches
from devsan.cuda.refused import refuse

# kProcessGroupNCCLDefaultTimeout of torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp
_DEFAULT_TIMEOUT = timedelta(minutes=10)
# What makes it, of torch._C._distributed_c10d._SymmetricMemory.
_SYMMETRIC_MEMORY = ("empty_strided_p2p", "rendezvous", "get_mempool_allocator")
# NCCL_CTA_POLICY_* of nccl.h
_POLICIES = {"NCCL_CTA_POLICY_DEFAULT": 0, "NCCL_CTA_POLICY_EFFICIENCY": 1, "NCCL_CTA_POLICY_ZERO": 2}


_on_group: Callable[[], None] | None = None


def install(patches: Patches, on_group: Callable[[], None]) -> dict[int, Any]:
    """Puts the backend in place. Returns what replaces which object, by its ``id``, wherever modules hold it.

    Args:
        patches: what is undone when the emulation ends.
        on_group: called when a group is made, before it is connected.
    """
    global _on_group
    if not torch.distributed.is_available() or not hasattr(_core, "ProcessGroupNCCL"):
        return {}
    _on_group = on_group
    from torch._C import _distributed_c10d as native
    from torch.distributed import constants, distributed_c10d

    backend = _core.ProcessGroupNCCL
    backend.__module__ = "torch.distributed.distributed_c10d"
    for name, value in _POLICIES.items():
        setattr(backend, name, value)
    backend.get_build_nccl_version = backend.get_runtime_nccl_version = staticmethod(lambda: version())
    _core.set_nccl_version(".".join(map(str, version())))
    before = patches.set(native, "ProcessGroupNCCL", backend)
    for module in (distributed_c10d, torch.distributed):
        patches.set(module, "ProcessGroupNCCL", backend)
    patches.set(distributed_c10d, "_NCCL_AVAILABLE", True)
    patches.set(native, "_DEFAULT_PG_NCCL_TIMEOUT", _DEFAULT_TIMEOUT)
    for module in (constants, distributed_c10d):
        patches.set(module, "default_pg_nccl_timeout", _DEFAULT_TIMEOUT)
    for name, dump in (("_dump_nccl_trace", "_dump_fr_trace"), ("_dump_nccl_trace_json", "_dump_fr_trace_json")):
        if not hasattr(native, name) and hasattr(native, dump):
            patches.set(native, name, getattr(native, dump))
    if not hasattr(native, "_reset_fr_recording_nccl"):
        patches.set(native, "_reset_fr_recording_nccl", lambda: None)
    patches.set(native, "_hash_tensors", _core.hash_tensors)  # object collectives under TORCH_DISTRIBUTED_DEBUG=DETAIL
    for name in _SYMMETRIC_MEMORY:
        if hasattr(native._SymmetricMemory, name):
            patches.set(native._SymmetricMemory, name, staticmethod(_refuse_symmetric_memory))
    return {} if before is None else {id(before): backend}


def _refuse_symmetric_memory(*args: object, **kwargs: object) -> NoReturn:
    refuse("symmetric memory is")


def version() -> tuple[int, ...]:
    """As ``torch.cuda.nccl.version()``."""
    return tuple(torch.cuda.nccl.version())


def make_gloo(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    """Connects the gloo backend that carries out the collectives of one group: see NOTE [NCCL over gloo]."""
    if _on_group is not None:
        _on_group()
    native: Any = torch._C._distributed_c10d.ProcessGroupGloo  # where ranks are missing, torch's modules have another
    options = native._Options()
    options._timeout = timeout
    options._devices = [native.create_default_device()]
    options._threads = 1  # in order, as on a stream
    gloo = native(store, rank, size, options)
    return gloo
