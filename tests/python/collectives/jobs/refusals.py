"""Calls that ProcessGroupNCCL does not take: none of them reaches the other rank."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist


@contextmanager
def refused(kind: type[Exception], sentence: str) -> Iterator[None]:
    try:
        yield
    except kind as error:
        assert sentence in str(error), f"{error} has not: {sentence}"
    else:
        raise AssertionError(f"expected {kind.__name__}: {sentence}")


def on_gpu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype, device="cuda")


def check_tensors_of_the_host(rank: int, size: int) -> None:
    with refused(RuntimeError, "No backend type associated with device type cpu"):
        dist.all_reduce(torch.ones(2))
    with refused(ValueError, "Tensors must be CUDA and dense"):
        dist.all_gather([torch.ones(2), torch.ones(2)], on_gpu(2))


def check_layout(rank: int, size: int) -> None:
    with refused(ValueError, "Tensors must be contiguous"):
        dist.all_reduce(on_gpu(4, 4)[:, ::2])
    with refused(ValueError, "Tensors must be contiguous"):
        dist.broadcast(on_gpu(4, 3).t(), 0)
    with refused(ValueError, "NCCL does not support all_reduce with sparse tensors."):
        dist.all_reduce(on_gpu(4, 4).to_sparse())


def check_types(rank: int, size: int) -> None:
    with refused(TypeError, "Input tensor data type is not supported for NCCL process group: Short"):
        dist.all_reduce(on_gpu(2, dtype=torch.int16))
    with refused(TypeError, "Cannot use ReduceOp.AVG with boolean inputs"):
        dist.all_reduce(on_gpu(2, dtype=torch.bool), dist.ReduceOp.AVG)
    for name in ("BAND", "BOR", "BXOR"):
        with refused(ValueError, f"Cannot use ReduceOp.{name} with NCCL"):
            dist.all_reduce(on_gpu(2, dtype=torch.int32), getattr(dist.ReduceOp, name))
    with refused(dist.DistBackendError, "FP8 reduction support begins with sm90 capable devices."):
        dist.all_reduce(torch.ones(2, device="cuda").to(torch.float8_e4m3fn))  # an A100 has compute capability 8.0


def check_sizes(rank: int, size: int) -> None:
    with refused(ValueError, "output tensor size must be equal to world_size times input tensor size"):
        dist.all_gather_into_tensor(on_gpu(3), on_gpu(2))
    with refused(TypeError, "output tensor must have the same type as input tensor"):
        dist.all_gather_into_tensor(on_gpu(4), on_gpu(2, dtype=torch.int64))
    with refused(ValueError, "input tensor must be the same size as output size times world size"):
        dist.reduce_scatter_tensor(on_gpu(2), on_gpu(3))


def check_other_gpu(rank: int, size: int) -> None:
    """A communicator belongs to the GPU of its first collective."""
    dist.barrier(device_ids=[rank])
    other = torch.ones(2, device=f"cuda:{1 - rank}")
    with refused(ValueError, "Expected list of tensors on the same device"):
        dist.all_gather([on_gpu(2), other], on_gpu(2))


def check_what_only_gloo_has(rank: int, size: int) -> None:
    with refused(ValueError, "monitored_barrier "):  # is gloo's alone; the sentence is another with torch 2.14
        dist.monitored_barrier()
    with refused(NotImplementedError, "ProcessGroupNCCL does not support recvAnysource"):
        dist.recv(on_gpu(2))
    with refused(RuntimeError, "Expecting one tensor only but got multiple."):
        group = dist.distributed_c10d._get_default_group()
        group.allreduce([on_gpu(2), on_gpu(2)])


def check_symmetric_memory(rank: int, size: int) -> None:
    import torch.distributed._symmetric_memory as symmetric_memory

    with refused(NotImplementedError, "symmetric memory is not emulated"):
        symmetric_memory.empty(4, device="cuda")


def check_the_group_is_still_whole(rank: int, size: int) -> None:
    tensor = on_gpu(2)
    dist.all_reduce(tensor)
    assert tensor.tolist() == [size, size]
