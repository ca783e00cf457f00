"""``torch.cuda.nccl``: collectives among the GPUs of one process.

DataParallel's backward pass uses them where they are. `torch.distributed` does not: it has a backend of its own. What
is taken as a list of tensors follows torch/csrc/cuda/python_nccl.cpp, checks and sentences nccl.cpp beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from devsan.cuda.compiled import as_compiled, expect

# ncclRedOp_t: sum, prod, max, min, avg
_COMBINE: tuple[Callable[..., Tensor], ...] = (torch.add, torch.mul, torch.maximum, torch.minimum, torch.add)
_AVERAGE = 4
# What NCCL has no type for, by torch's name of it in C++ (to_nccl_data_type). The names of the others are not needed.
_UNKNOWN = {
    torch.int16: "Short", torch.uint16: "UInt16", torch.uint32: "UInt32", torch.uint64: "UInt64",
    torch.complex32: "ComplexHalf", torch.complex64: "ComplexFloat", torch.complex128: "ComplexDouble",
}  # fmt: skip


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
    return {name: as_compiled(function) for name, function in found.items()}


def _unique_id() -> bytes:
    """As ncclGetUniqueId: 128 bytes that no other call gives."""
    return os.urandom(16).ljust(128, b"\0")


def _tensors(given: Any) -> list[Tensor]:
    """Everything that can be iterated over, as PySequence_Fast takes it."""
    try:
        tensors = list(given)
    except TypeError:
        raise TypeError("expected a sequence") from None
    for index, tensor in enumerate(tensors):
        _expect_tensor(tensor, f"expected Tensor at {index}")
    return [tensor.detach() for tensor in tensors]


def _expect_tensor(value: Any, expected: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"{expected} (got {type(value).__name__})")


def _expect_as_many(inputs: list[Tensor], streams: Any, comms: Any) -> None:
    if streams is not None:
        expect(len(list(streams)) == len(inputs), "number of streams is not equal to number of inputs")
    if comms is not None:  # nobody has a communicator: torch.cuda.nccl.init_rank refuses
        expect(not comms, "PyCapsule_GetPointer called with invalid PyCapsule object", ValueError)
        expect(not inputs, "number of communicators is not equal to number of inputs")


def _expect_alike(inputs: list[Tensor], outputs: Iterable[Tensor | None], input_share: int, output_share: int) -> None:
    """``check_inputs``: dense, contiguous, of one type and size, and on a GPU each. None stands for no output."""
    expect(bool(inputs), "input sequence can't be empty")
    outputs = list(outputs)
    expect(
        len(inputs) == len(outputs),
        "inputs and outputs sequences have to be of the same length, but got input of length "
        f"{len(inputs)} and output of length {len(outputs)}",
    )
    elements, dtype = inputs[0].numel(), inputs[0].dtype
    devices: set[int] = set()
    for tensor, output in zip(inputs, outputs, strict=True):
        _expect_dense(tensor, dtype)
        expect(tensor.numel() == elements, "all inputs must have the same number of elements")
        if output is not None:
            _expect_dense(output, dtype)
            expect(tensor.get_device() == output.get_device(), "input and output must be on the same device")
            expect(
                output.numel() * output_share == elements * input_share,
                "output must be of size input_size * size_multiplier",
            )
        expect(tensor.get_device() not in devices, "inputs must be on unique devices")
        devices.add(tensor.get_device())
    expect(dtype not in _UNKNOWN, f"Unconvertible NCCL type {_UNKNOWN.get(dtype)}")


def _expect_dense(tensor: Tensor, dtype: torch.dtype) -> None:
    expect(tensor.is_cuda and not tensor.is_sparse, "input and output elements have to be cuda dense Tensors")
    expect(tensor.dtype == dtype, "all inputs and outputs must be of the same Tensor dtype")
    expect(tensor.is_contiguous(), "all inputs and outputs have to be contiguous")


def _reduced(inputs: list[Tensor], op: int, device: torch.device) -> Tensor:
    """Takes memory for one tensor on ``device``, and for one more while it adds up."""
    expect(0 <= op < len(_COMBINE), "NCCL Error 4: invalid argument")
    result = inputs[0].to(device, copy=True)
    for tensor in inputs[1:]:
        _COMBINE[op](result, tensor.to(device), out=result)
    return torch.div(result, len(inputs)).to(result.dtype) if op == _AVERAGE else result


def _reduce(inputs: Any, output: Any, root: int, op: int, streams: Any, comms: Any) -> None:
    tensors = _tensors(inputs)
    _expect_tensor(output, "expected Tensor")
    _expect_as_many(tensors, streams, comms)
    expect(0 <= root < len(tensors), "invalid root")
    _expect_alike(tensors, (output if index == root else None for index in range(len(tensors))), 1, 1)
    output.detach().copy_(_reduced(tensors, op, output.device))


def _all_reduce(inputs: Any, outputs: Any, op: int, streams: Any, comms: Any) -> None:
    tensors, results = _tensors(inputs), _tensors(outputs)
    _expect_as_many(tensors, streams, comms)
    _expect_alike(tensors, results, 1, 1)
    total = _reduced(tensors, op, tensors[0].device)
    for result in results:
        result.copy_(total.view_as(result))


def _broadcast(inputs: Any, root: int, streams: Any, comms: Any) -> None:
    tensors = _tensors(inputs)
    expect(0 <= root < len(tensors), "invalid root")
    _expect_as_many(tensors, streams, comms)
    _expect_alike(tensors, tensors, 1, 1)
    for index, tensor in enumerate(tensors):
        if index != root:
            tensor.copy_(tensors[root].view_as(tensor))


def _all_gather(inputs: Any, outputs: Any, streams: Any, comms: Any) -> None:
    tensors, results = _tensors(inputs), _tensors(outputs)
    _expect_as_many(tensors, streams, comms)
    _expect_alike(tensors, results, len(tensors), 1)
    for result in results:
        gathered = torch.cat([tensor.to(result.device).flatten() for tensor in tensors])
        result.copy_(gathered.view_as(result))


def _reduce_scatter(inputs: Any, outputs: Any, op: int, streams: Any, comms: Any) -> None:
    tensors, results = _tensors(inputs), _tensors(outputs)
    _expect_as_many(tensors, streams, comms)
    _expect_alike(tensors, results, 1, len(tensors))
    chunks = _reduced(tensors, op, tensors[0].device).flatten().chunk(len(results))
    for result, chunk in zip(results, chunks, strict=True):
        result.copy_(chunk.view_as(result))
