"""``torch.cuda.nccl``: collectives among the GPUs of one process (torch/csrc/cuda/python_nccl.cpp).

DataParallel's backward pass uses them where they are. `torch.distributed` does not: it has a backend of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

# ncclRedOp_t: sum, prod, max, min, avg
_COMBINE: tuple[Callable[..., Tensor], ...] = (torch.add, torch.mul, torch.maximum, torch.minimum, torch.add)
_AVERAGE = 4


def names(version: tuple[int, int, int]) -> dict[str, Callable[..., Any]]:
    """The functions, by their name in ``torch._C``; a build with CUDA keeps its own version. Streams order nothing."""
    found: dict[str, Callable[..., Any]] = {
        "_nccl_reduce": _reduce,
        "_nccl_all_reduce": _all_reduce,
        "_nccl_broadcast": _broadcast,
        "_nccl_all_gather": _all_gather,
        "_nccl_reduce_scatter": _reduce_scatter,
        "_nccl_unique_id": _unique_id,
    }
    if not hasattr(torch._C, "_nccl_version"):
        major, minor, patch = version
        found["_nccl_version"] = lambda: major << 32 | minor << 16 | patch
        found["_nccl_version_suffix"] = bytes
    return found


def _unique_id() -> bytes:
    """As ncclGetUniqueId: 128 bytes that no other call gives."""
    return os.urandom(16).ljust(128, b"\0")


def _reduced(inputs: Sequence[Tensor], op: int, device: torch.device) -> Tensor:
    """Takes memory for one tensor on ``device``, and for one more while it adds up."""
    if not 0 <= op < len(_COMBINE):
        raise RuntimeError(f"NCCL Error 4: invalid argument, op {op}")
    result = inputs[0].detach().to(device, copy=True)
    for tensor in inputs[1:]:
        _COMBINE[op](result, tensor.detach().to(device), out=result)
    return torch.div(result, len(inputs)).to(result.dtype) if op == _AVERAGE else result


def _reduce(inputs: Sequence[Tensor], output: Tensor, root: int, op: int, streams: Any, comms: Any) -> None:
    output.detach().copy_(_reduced(inputs, op, output.device))


def _all_reduce(inputs: Sequence[Tensor], outputs: Sequence[Tensor], op: int, streams: Any, comms: Any) -> None:
    result = _reduced(inputs, op, inputs[0].device)
    for output in outputs:
        output.detach().copy_(result)


def _broadcast(inputs: Sequence[Tensor], root: int, streams: Any, comms: Any) -> None:
    for tensor in inputs:
        if tensor is not inputs[root]:
            tensor.detach().copy_(inputs[root])


def _all_gather(inputs: Sequence[Tensor], outputs: Sequence[Tensor], streams: Any, comms: Any) -> None:
    for output in outputs:
        gathered = torch.cat([tensor.detach().to(output.device).flatten() for tensor in inputs])
        output.detach().copy_(gathered.view_as(output))


def _reduce_scatter(inputs: Sequence[Tensor], outputs: Sequence[Tensor], op: int, streams: Any, comms: Any) -> None:
    chunks = _reduced(inputs, op, inputs[0].device).flatten().chunk(len(outputs))
    for output, chunk in zip(outputs, chunks, strict=True):
        output.detach().copy_(chunk.view_as(output))
