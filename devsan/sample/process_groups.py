"""Groups of torch.distributed in a rank of a sample: they have their whole sizes, and wait for those that run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.distributed import distributed_c10d

from devsan import _core
from devsan.cuda.patches import Patches
from devsan.sample_of_ranks import Sample

native: Any = torch._C._distributed_c10d

# What a program asks the class of gloo's backend for.
_OF_THE_CLASS = ("_Options", "create_device", "create_default_device")


def begin(sample: Sample, patches: Patches) -> None:
    """Has new groups of this process wait for the ranks of ``sample`` alone."""
    gloo = _core.SampledGloo
    for name in _OF_THE_CLASS:
        setattr(gloo, name, getattr(native.ProcessGroupGloo, name))
    store = _store_of(sample)
    for module in (distributed_c10d, torch.distributed):
        patches.set(module, "ProcessGroupGloo", gloo)
        patches.set(module, "TCPStore", store)
    patches.set(distributed_c10d, "_store_based_barrier", _barrier_of(sample))
    # TORCH_DISTRIBUTED_DEBUG=DETAIL compares the calls of all ranks; DevSan compares those of the ranks that run.
    patches.set(distributed_c10d, "_create_process_group_wrapper", lambda wrapped_pg, **_: wrapped_pg)


def _barrier_of(sample: Sample) -> Any:
    wait = distributed_c10d._store_based_barrier

    def store_based_barrier(rank: int, store: Any, group_name: str, rendezvous_count: int, *args: Any) -> None:
        ranks: Iterable[int] = range(sample.world_size)
        if rendezvous_count != sample.world_size:  # a new group whose members alone meet
            names = distributed_c10d._world.pg_names
            group = next(group for group, name in names.items() if name == group_name)
            ranks = distributed_c10d._world.pg_group_ranks[group]
        wait(rank, store, group_name, len(set(ranks).intersection(sample.ranks)), *args)

    return store_based_barrier


def _store_of(sample: Sample) -> type:
    class TCPStore(native.TCPStore):  # type: ignore[misc]
        __doc__ = native.TCPStore.__doc__

        def __init__(
            self, host_name: str, port: int, world_size: int | None = None, *args: object, **named: object
        ) -> None:
            here = len(sample.ranks) if world_size == sample.world_size else world_size
            super().__init__(host_name, port, here, *args, **named)

    return TCPStore
