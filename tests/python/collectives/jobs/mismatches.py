"""Calls in which the ranks differ: each on a group of its own, since that is over then."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

SOON = 20.0  # seconds; the groups' timeout is 40


def told(call: Callable[[Any], object]) -> str:
    """What this rank is told where the ranks of a new group differ in ``call(group)``.

    A rank whose own part of it was complete (it has what it needs from the others) hears of it at its next call.
    """
    group = dist.new_group()
    dist.all_reduce(torch.ones(3, device="cuda"), group=group)
    begin = time.monotonic()
    try:
        call(group)
        dist.all_reduce(torch.ones(3, device="cuda"), group=group)
    except dist.DistBackendError as error:
        assert time.monotonic() - begin < SOON
        return str(error)
    raise AssertionError("expected a DistBackendError, got none")


def expect(text: str, *lines: str) -> None:
    """The sentence of a mismatch has these lines, and the places in this file."""
    first, *rest = text.splitlines()
    assert "NCCL communicator was aborted on rank" in first and "Expected the same call in all ranks" in first, text
    assert len(rest) == len(lines), text
    for line, expected in zip(rest, lines, strict=True):
        assert line.strip().startswith(expected), text
        assert "mismatches.py:" in line, text


def ones(count: int) -> torch.Tensor:
    return torch.ones(count, device="cuda")


def check_all_reduce(rank: int, size: int) -> None:
    text = told(lambda group: dist.all_reduce(ones(100 + 50 * (rank == 2)), group=group))
    line = "all_reduce of {} elements of float32 ({} bytes), at "
    expect(
        text,
        "rank 0: " + line.format(100, 400),
        "rank 1: " + line.format(100, 400),
        "rank 2: " + line.format(150, 600),
    )


def check_asynchronous_all_reduce(rank: int, size: int) -> None:
    def call(group: Any) -> None:
        works = [dist.all_reduce(ones(count), group=group, async_op=True) for count in (8, 8 + rank, 8)]
        for work in works:
            work.wait()

    text = told(call)
    assert "rank 1: all_reduce of 9 elements of float32 (36 bytes)" in text, text


def check_types(rank: int, size: int) -> None:
    dtype = torch.int32 if rank == 1 else torch.float32
    text = told(lambda group: dist.all_reduce(torch.ones(4, device="cuda", dtype=dtype), group=group))
    line = "rank {}: all_reduce of 4 elements of {} (16 bytes), at "
    expect(text, line.format(0, "float32"), line.format(1, "int32"), line.format(2, "float32"))


def check_broadcast(rank: int, size: int) -> None:
    text = told(lambda group: dist.broadcast(ones(10 if rank else 20), 0, group=group))
    line = "rank {}: broadcast with root 0 of {} elements of float32 ({} bytes), at "
    expect(text, line.format(0, 20, 80), line.format(1, 10, 40), line.format(2, 10, 40))


def check_roots(rank: int, size: int) -> None:
    text = told(lambda group: dist.broadcast(ones(10), rank % 2, group=group))
    assert "rank 0: broadcast with root 0" in text and "rank 1: broadcast with root 1" in text


def check_all_gather(rank: int, size: int) -> None:
    mine = ones(5 + 2 * rank)
    text = told(lambda group: dist.all_gather([torch.empty_like(mine) for _ in range(size)], mine, group=group))
    line = "rank {}: all_gather of {} elements of float32 ({} bytes), at "
    expect(text, line.format(0, 5, 20), line.format(1, 7, 28), line.format(2, 9, 36))


def check_other_collectives(rank: int, size: int) -> None:
    """A barrier is a sum of one number, for gloo as for NCCL."""
    text = told(lambda group: dist.all_reduce(ones(1000), group=group) if rank else dist.barrier(group))
    line = "all_reduce of 1000 elements of float32 (4000 bytes), at "
    expect(text, "rank 0: barrier (4 bytes), at ", "rank 1: " + line, "rank 2: " + line)


def check_all_to_all(rank: int, size: int) -> None:
    given = [1, 3, 1] if rank == 0 else [1, 1, 1]
    text = told(lambda group: dist.all_to_all_single(ones(3), ones(sum(given)), [1, 1, 1], given, group=group))
    assert "gives [4, 12, 4] bytes to the ranks and expects [4, 4, 4] from them" in text


def check_coalesced(rank: int, size: int) -> None:
    text = told(lambda group: dist.all_reduce_coalesced([ones(4), ones(4 + rank)], group=group))
    assert "rank 2: all_reduce_coalesced of 10 elements of float32 (24 bytes)" in text


def check_messages(rank: int, size: int) -> None:
    def call(group: Any) -> None:
        if rank == 0:
            dist.send(ones(10), 1, group=group)
        elif rank == 1:
            dist.recv(ones(5), 0, group=group)

    first, *rest = told(call).splitlines()
    assert "got at message 1 from rank 0 to rank 1" in first
    assert rest == ["  rank 0: send of 40 bytes", "  rank 1: recv of 20 bytes"]


def check_a_waiting_receiver(rank: int, size: int) -> None:
    """The receiver is in gloo already when the sender finds out."""

    def call(group: Any) -> None:
        if rank == 0:
            time.sleep(0.5)
            dist.send(ones(10), 1, group=group)
        elif rank == 1:
            dist.recv(ones(5), 0, group=group)
        else:
            time.sleep(1)

    assert "rank 1: recv of 20 bytes" in told(call)


def check_models_that_differ(rank: int, size: int) -> None:
    """DDP broadcasts parameters and buffers in one: rank 0 has a buffer more."""
    net = torch.nn.Linear(8, 8)
    if rank == 0:
        net.register_buffer("running_mean", torch.zeros(8))
    net.cuda()
    text = told(lambda group: DistributedDataParallel(net, device_ids=[rank], process_group=group))
    line = "rank {}: broadcast with root 0 of {} elements of float32 ({} bytes), at "
    expect(text, line.format(0, 80, 320), line.format(1, 72, 288), line.format(2, 72, 288))


def check_a_group_is_over_then(rank: int, size: int) -> None:
    group = dist.new_group()
    for again in (False, True):
        try:
            dist.all_reduce(ones(3 if again else 3 + rank), group=group)
        except dist.DistBackendError as error:
            assert "Expected the same call in all ranks" in str(error)
        else:
            raise AssertionError(f"expected a DistBackendError, got none: {again=}")


def check_different_ways_to_the_same(rank: int, size: int) -> None:
    """What fits together for NCCL is not refused: other names, other shapes, uneven lists."""
    ones_of_all = ones(1)
    if rank == 0:
        dist.barrier()
    else:
        dist.all_reduce(ones_of_all)
    tensor = torch.ones((2, 6) if rank == 0 else (3, 4), device="cuda")
    dist.all_reduce(tensor)
    assert tensor.sum().item() == 12 * size
    sent = torch.ones(2, device="cuda", dtype=torch.float32 if rank == 0 else torch.int32)
    dist.broadcast(sent, 0)
    given = [rank + 1] * size
    wanted = [other + 1 for other in range(size)]
    got = torch.zeros(sum(wanted), device="cuda")
    dist.all_to_all_single(got, ones(sum(given)), wanted, given)
    assert got.sum().item() == sum(wanted)


def check_many_calls_ahead(rank: int, size: int) -> None:
    """More than the ranks remember of each other."""
    tensors = [ones(2) for _ in range(600)]
    if rank == 0:
        time.sleep(0.2)
    works = [dist.broadcast(tensor, 0, async_op=True) for tensor in tensors]
    for work in works:
        assert work is not None
        work.wait()
    assert all(tensor.tolist() == [1, 1] for tensor in tensors)
