"""Collectives that take tensors of the host, too, for reference runs (NOTE [The reference] in ``reference``).

A process group of NCCL refuses them. The group of all gets gloo as well, for what torch itself reduces on the host. In
groups of NCCL alone they go to the rank's GPU, and what comes back is copied into them.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

_NAMES = (
    "all_gather", "all_gather_into_tensor", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather",
    "irecv", "isend", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
)  # fmt: skip

BOTH = "cpu:gloo,cuda:nccl"
"""The backends of a group that takes tensors of the host and of GPUs."""


class _Brought:
    """A work whose results are copied to the host when it has ended."""

    def __init__(self, work: Any, pairs: list[tuple[Any, Any]]) -> None:
        self._work, self._pairs = work, pairs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def wait(self, *args: Any, **named: Any) -> Any:
        done = self._work.wait(*args, **named)
        _copy_back(self._pairs)
        return done


def bring_to_collectives() -> None:
    """Has each function of torch.distributed take tensors of the host where its group has NCCL alone."""
    import torch.distributed as dist

    if not dist.is_available():
        return
    holders = [dist, sys.modules["torch.distributed.distributed_c10d"]]
    for name in _NAMES:
        brought = _bringing(getattr(dist, name))
        for holder in holders:
            setattr(holder, name, brought)
    init_process_group, get_backend = _with_gloo(dist.init_process_group), _as_asked(dist.get_backend)
    for holder in holders:
        holder.init_process_group, holder.get_backend = init_process_group, get_backend


def _with_gloo(function: Any) -> Any:
    @functools.wraps(function)
    def init_process_group(backend: Any = None, *args: Any, **named: Any) -> Any:
        return function(BOTH if backend == "nccl" else backend, *args, **named)

    return init_process_group


def _as_asked(function: Any) -> Any:
    @functools.wraps(function)
    def get_backend(*args: Any, **named: Any) -> Any:
        found = function(*args, **named)
        return "nccl" if found == BOTH else found

    return get_backend


def _bringing(function: Any) -> Any:
    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        pairs: list[tuple[Any, Any]] = []
        if not _takes_host(named.get("group")):
            args = tuple(_there(each, pairs) for each in args)
            named = {name: _there(each, pairs) for name, each in named.items()}
        returned = function(*args, **named)
        if pairs and hasattr(returned, "wait"):
            return _Brought(returned, pairs)
        _copy_back(pairs)
        return returned

    return called


def _takes_host(group: Any) -> bool:
    import torch.distributed as dist

    return not dist.is_initialized() or "cpu:" in str(dist.get_backend_config(group))


def _there(value: Any, pairs: list[tuple[Any, Any]]) -> Any:
    import torch

    if isinstance(value, (list, tuple)):
        return type(value)([_there(each, pairs) for each in value])
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
        return value
    pairs.append((value, value.detach().cuda()))
    return pairs[-1][1]


def _copy_back(pairs: list[tuple[Any, Any]]) -> None:
    import torch

    with torch.no_grad():
        for here, there in pairs:
            here.copy_(there)
