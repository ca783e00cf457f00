"""Collectives of objects that come from a rank which does not run.

Of a tensor it is known how large it is; an object's pickle has a size that its owner tells first. So a broadcast of
objects comes from the stand-in, which gives its own, and says so; where it has nothing of its own, the call is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.distributed import distributed_c10d

from devsan import _core
from devsan.cuda.patches import Patches
from devsan.errors import UsageError, tell
from devsan.sample_of_ranks import Sample

_told: set[tuple[int, int]] = set()


def begin(sample: Sample, patches: Patches) -> None:
    """Changes ``broadcast_object_list``, ``scatter_object_list`` and ``recv_object_list``."""
    changes = {
        "broadcast_object_list": _from_stand_in(distributed_c10d.broadcast_object_list, sample),
        "scatter_object_list": _refused(distributed_c10d.scatter_object_list, 2, sample),
        "recv_object_list": _refused(distributed_c10d.recv_object_list, 1, sample),
    }
    for name, change in changes.items():
        for module in (distributed_c10d, torch.distributed):
            patches.set(module, name, change)


def _from_stand_in(broadcast: Callable[..., Any], sample: Sample) -> Callable[..., Any]:
    @functools.wraps(broadcast)
    def broadcast_object_list(
        object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
        group_src: int | None = None,
    ) -> Any:  # fmt: skip
        source = _source(src, group, group_src)
        if source is None or source in sample.ranks:
            return broadcast(object_list, src, group, device, group_src)
        members = distributed_c10d.get_process_group_ranks(group)
        stand_in = members[_core.stand_in(members.index(source), members)]
        if (source, stand_in) not in _told:
            _told.add((source, stand_in))
            if stand_in == distributed_c10d.get_rank():
                tell(f"rank {source} does not run (--ranks): broadcast_object_list gives what rank {stand_in} has")
        return broadcast(object_list, stand_in, group, device)

    return broadcast_object_list


def _refused(function: Callable[..., Any], at: int, sample: Sample) -> Callable[..., Any]:
    """
    Args:
        function: of torch.distributed.
        at: the place of ``src`` among its arguments, which ``group`` follows.
        sample: of the launch.
    """

    @functools.wraps(function)
    def of_objects(*args: Any, **named: Any) -> Any:
        given = dict(zip(("src", "group"), args[at:], strict=False)) | named
        source = _source(given.get("src"), given.get("group"), given.get("group_src"))
        if source is not None and source not in sample.ranks:
            raise UsageError(f"{function.__name__} from a rank of --ranks", f"rank {source}, which does not run")
        return function(*args, **named)

    return of_objects


def _source(src: int | None, group: Any, group_src: int | None) -> int | None:
    """The rank in the world; None for any, or where torch is to say what is wrong."""
    if group_src is None:
        return src
    members = distributed_c10d.get_process_group_ranks(group)
    return members[group_src] if 0 <= group_src < len(members) else None
