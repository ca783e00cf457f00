"""Copies between GPUs for DataParallel: ``torch._C._broadcast`` and its like (torch/csrc/cuda/comm.cpp).

The checks and their sentences are torch's, and so is what is taken as a list (torch/csrc/cuda/python_comm.cpp). Every
device index is one of the emulated machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._utils import _flatten_dense_tensors, _reorder_tensors_as, _take_tensors, _unflatten_dense_tensors

from devsan import _core
from devsan.cuda.compiled import as_compiled, expect, vector

_Streams = Sequence["torch.cuda.Stream | None"]


def names() -> dict[str, Callable[..., Any]]:
    """The functions, by their name in ``torch._C``."""
    functions = (_broadcast, _broadcast_out, _broadcast_coalesced, _scatter, _scatter_out, _gather, _gather_out)
    return {function.__name__: as_compiled(function) for function in functions}


def _shape(size: Sequence[int]) -> str:
    return str(list(size))


def _copy(tensor: Tensor, device: int) -> Tensor:
    expect(device >= 0, f"Expected non-negative device index, but got {device}")
    return tensor if tensor.get_device() == device else tensor.to(torch.device("cuda", device), non_blocking=True)


def _broadcast(tensor: Tensor, devices: Sequence[int]) -> tuple[Tensor, ...]:
    return tuple(_copy(tensor, device) for device in devices)


def _broadcast_out(tensor: Tensor, out: Any) -> tuple[Tensor, ...]:
    out = vector(out, Tensor, "_broadcast_out")
    for index, target in enumerate(out):
        _expect_cuda_output(target, index)
        expect(
            target.shape == tensor.shape,
            f"Expected all output tensors to have same shape as the source tensor {_shape(tensor.shape)}, "
            f"but output tensor at index {index} has shape {_shape(target.shape)}",
        )
        target.copy_(tensor, non_blocking=True)
    return tuple(out)


def _broadcast_coalesced(tensors: Any, devices: Sequence[int], buffer_size: int) -> list[list[Tensor]]:
    """Small tensors travel together: the copies on one device are views of one buffer, as far as it holds them."""
    tensors = vector(tensors, Tensor, "_broadcast_coalesced")
    expect(
        all(tensor.get_device() == devices[0] for tensor in tensors),
        f"All tensors must be on devices[0]: {devices[0]}",
    )
    copies = [list(tensors)]
    for device in devices[1:]:
        arrived: list[Tensor] = []
        for chunk in _take_tensors(tensors, buffer_size):
            if chunk[0].is_sparse:
                arrived += [_copy(tensor, device) for tensor in chunk]
                continue
            buffer = _copy(_flatten_dense_tensors(chunk), device)
            # `.data` counts the versions of each view apart: they are tensors of their own to autograd.
            arrived += [view.data for view in _unflatten_dense_tensors(buffer, chunk)]
        copies.append(list(_reorder_tensors_as(arrived, tensors)))
    return copies


def _scatter(
    tensor: Tensor,
    devices: Sequence[int],
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: _Streams | None = None,
) -> tuple[Tensor, ...]:
    expect(len(devices) > 0, "Expected at least one device to scatter to")
    if chunk_sizes is None:
        chunks = tensor.chunk(len(devices), dim)
    else:
        expect(
            len(chunk_sizes) == len(devices),
            "Expected devices and chunk_sizes to be of same length, but got "
            f"len(devices) = {len(devices)} and len(chunk_sizes) = {len(chunk_sizes)}",
        )
        chunks = tensor.split_with_sizes(chunk_sizes, dim)
    _expect_streams(streams, devices)
    return tuple(_copy(chunk, device) for chunk, device in zip(chunks, devices, strict=False))


def _scatter_out(tensor: Tensor, out: Any, dim: int = 0, streams: _Streams | None = None) -> tuple[Tensor, ...]:
    out = vector(out, Tensor, "_scatter_out")
    expect(len(out) > 0, "Expected at least one output tensor to scatter to")
    dim %= tensor.dim()
    for index, target in enumerate(out):
        _expect_cuda_output(target, index)
        expected = list(tensor.shape)
        expected[dim] = target.size(dim)
        expect(
            list(target.shape) == expected,
            f"Output tensor at index {index} has incorrect shape: {_shape(target.shape)}. Expected same shape except "
            f"for scatter dim {dim} as the source tensor: {_shape(tensor.shape)}",
        )
    total = sum(target.size(dim) for target in out)
    expect(
        total == tensor.size(dim),
        f"Total size for output tensors along scatter dim {dim} does not match the source tensor size at dim {dim}. "
        f"Expected {tensor.size(dim)}, but got total size {total}",
    )
    for target, chunk in zip(out, tensor.split_with_sizes([each.size(dim) for each in out], dim), strict=True):
        target.copy_(chunk, non_blocking=True)
    return tuple(out)


def _gather(tensors: Any, dim: int = 0, destination: int | None = None) -> Tensor:
    tensors = vector(tensors, Tensor, "_gather")
    shape = _gathered_shape(tensors, dim)
    if destination == -1:
        device = torch.device("cpu")
    else:
        device = torch.device("cuda", _core.current_device() if destination is None else destination)
    channels_last = all(tensor.is_contiguous(memory_format=torch.channels_last) for tensor in tensors) and (
        tensors[0].dim() == 4
    )
    memory_format = torch.channels_last if channels_last else torch.contiguous_format
    result = torch.empty(shape, dtype=tensors[0].dtype, device=device, memory_format=memory_format)
    return _gather_into(result, tensors, dim)


def _gather_out(tensors: Any, out: Tensor, dim: int = 0) -> Tensor:
    tensors = vector(tensors, Tensor, "_gather_out")
    shape = _gathered_shape(tensors, dim)
    expect(list(out.shape) == shape, f"Expected out tensor to have shape {_shape(shape)}, but got {_shape(out.shape)}")
    return _gather_into(out, tensors, dim)


def _gather_into(result: Tensor, tensors: Sequence[Tensor], dim: int) -> Tensor:
    for place, tensor in zip(result.split_with_sizes([each.size(dim) for each in tensors], dim), tensors, strict=True):
        place.copy_(tensor, non_blocking=True)
    return result


def _gathered_shape(tensors: Sequence[Tensor], dim: int) -> list[int]:
    expect(len(tensors) > 0, "Expected at least one tensor to gather from")
    shape = list(tensors[0].shape)
    for index, tensor in enumerate(tensors):
        expect(
            tensor.is_cuda,
            f"Expected all input tensors to be CUDA tensors, but tensor at index {index} has device '{tensor.device}'",
        )
        expect(
            tensor.dim() == len(shape),
            f"Expected all input tensors to have the same number of dimensions, but tensor at index {index}has "
            f"{tensor.dim()} dimensions, (expected {len(shape)})",
        )
        shape[dim] = tensor.size(dim)
        expect(
            list(tensor.shape) == shape,
            f"Input tensor at index {index} has invalid shape {_shape(tensor.shape)}, but expected {_shape(shape)}",
        )
    shape[dim] = sum(tensor.size(dim) for tensor in tensors)
    return shape


def _expect_cuda_output(tensor: Tensor, index: int) -> None:
    expect(
        tensor.is_cuda,
        f"Expected all output tensors to be CUDA tensors, but output tensor at index {index} has device "
        f"'{tensor.device}'",
    )


def _expect_streams(streams: _Streams | None, devices: Sequence[int]) -> None:
    for index, (stream, device) in enumerate(zip(streams or (), devices, strict=False)):
        expect(
            stream is None or stream.device_index == device,
            f"Expected the device associated with the stream at index {index} (was {stream and stream.device_index}) "
            f"to match the device supplied at that index (expected {device})",
        )
