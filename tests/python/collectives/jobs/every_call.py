"""Every call of torch.distributed by which ranks meet, once, in its plainest form: for two ranks."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist

OPTIONS = {"device_id": torch.device("cuda", int(os.environ["RANK"]))}  # split_group wants to know it


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, device="cuda")


def mine(rank: int) -> torch.Tensor:
    return torch.full((2,), float(rank), device="cuda")


def expect(got: torch.Tensor, *values: float) -> None:
    assert got.is_cuda and got.flatten().tolist() == list(values), got


def check_all_gather(rank: int, size: int) -> None:
    parts = [ones(2) for _ in range(size)]
    dist.all_gather(parts, mine(rank))
    expect(torch.cat(parts), 0, 0, 1, 1)


def check_all_gather_coalesced(rank: int, size: int) -> None:
    try:
        dist.all_gather_coalesced([[ones(2) for _ in range(size)]], [mine(rank)])
    except NotImplementedError as error:
        assert "does not support allgather_coalesced" in str(error)
    else:
        raise AssertionError("NCCL refuses it")


def check_all_gather_into_tensor(rank: int, size: int) -> None:
    out = ones(4)
    dist.all_gather_into_tensor(out, mine(rank))
    expect(out, 0, 0, 1, 1)


def check_all_gather_single(rank: int, size: int) -> None:
    out = ones(4)
    getattr(dist, "all_gather_single", dist.all_gather_into_tensor)(out, mine(rank))  # its name since torch 2.13
    expect(out, 0, 0, 1, 1)


def check_all_gather_object(rank: int, size: int) -> None:
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    assert found == [{"rank": 0}, {"rank": 1}]


def check_all_reduce(rank: int, size: int) -> None:
    tensor = mine(rank)
    dist.all_reduce(tensor)
    expect(tensor, 1, 1)


def check_all_reduce_coalesced(rank: int, size: int) -> None:
    tensors = [mine(rank), ones(1)]
    dist.all_reduce_coalesced(tensors)
    expect(torch.cat(tensors), 1, 1, 2)


def check_all_to_all(rank: int, size: int) -> None:
    out = [ones(2) for _ in range(size)]
    dist.all_to_all(out, [mine(rank), mine(rank)])
    expect(torch.cat(out), 0, 0, 1, 1)


def check_all_to_all_single(rank: int, size: int) -> None:
    out = ones(2)
    dist.all_to_all_single(out, mine(rank))
    expect(out, 0, 1)


def check_barrier(rank: int, size: int) -> None:
    dist.barrier()


def check_batch_isend_irecv(rank: int, size: int) -> None:
    got = ones(2)
    calls = [dist.P2POp(dist.isend, mine(rank), 1 - rank), dist.P2POp(dist.irecv, got, 1 - rank)]
    for work in dist.batch_isend_irecv(calls):
        work.wait()
    expect(got, 1 - rank, 1 - rank)


def check_broadcast(rank: int, size: int) -> None:
    tensor = mine(rank)
    dist.broadcast(tensor, 1)
    expect(tensor, 1, 1)


def check_broadcast_object_list(rank: int, size: int) -> None:
    found = ["from 0", (0,)] if rank == 0 else [None, None]
    dist.broadcast_object_list(found, 0)
    assert found == ["from 0", (0,)]


def check_gather(rank: int, size: int) -> None:
    parts = [ones(2) for _ in range(size)] if rank == 0 else None
    dist.gather(mine(rank), parts, 0)
    if parts is not None:
        expect(torch.cat(parts), 0, 0, 1, 1)


def check_gather_object(rank: int, size: int) -> None:
    found = [None] * size if rank == 0 else None
    dist.gather_object(rank, found, 0)
    assert found in (None, [0, 1])


def check_isend(rank: int, size: int) -> None:
    got = ones(2)
    work = dist.isend(mine(rank), 1) if rank == 0 else dist.irecv(got, 0)
    assert work is not None
    work.wait()
    expect(got, *((1, 1) if rank == 0 else (0, 0)))


check_irecv = check_isend


def check_monitored_barrier(rank: int, size: int) -> None:
    try:
        dist.monitored_barrier()
    except ValueError as error:
        assert "monitored_barrier is only implemented for GLOO backend" in str(error)
    else:
        raise AssertionError("torch refuses it for NCCL")


def check_new_group(rank: int, size: int) -> None:
    tensor = mine(rank)
    dist.all_reduce(tensor, group=dist.new_group([0, 1]))
    expect(tensor, 1, 1)


def check_new_subgroups(rank: int, size: int) -> None:
    group, _ = dist.new_subgroups(2)
    tensor = mine(rank)
    dist.all_reduce(tensor, group=group)
    expect(tensor, 1, 1)


def check_new_subgroups_by_enumeration(rank: int, size: int) -> None:
    group, _ = dist.new_subgroups_by_enumeration([[0], [1]])
    tensor = mine(rank)
    dist.all_reduce(tensor, group=group)
    expect(tensor, rank, rank)


def check_recv(rank: int, size: int) -> None:
    tensor = mine(rank)
    if rank == 0:
        dist.recv(tensor, 1)
    else:
        dist.send(tensor, 0)
    expect(tensor, 1, 1)


check_send = check_recv


def check_recv_object_list(rank: int, size: int) -> None:
    found = ["from 1", 1] if rank == 1 else [None, None]
    if rank == 1:
        dist.send_object_list(found, 0)
    else:
        assert dist.recv_object_list(found, 1) == 1
    assert found == ["from 1", 1]


check_send_object_list = check_recv_object_list


def check_reduce(rank: int, size: int) -> None:
    tensor = mine(rank)
    dist.reduce(tensor, 0)
    expect(tensor, 1, 1)


def check_reduce_scatter(rank: int, size: int) -> None:
    out = ones(2)
    dist.reduce_scatter(out, [mine(rank), mine(rank)])
    expect(out, 1, 1)


def check_reduce_scatter_single(rank: int, size: int) -> None:
    out = ones(1)
    getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)(out, mine(rank))
    expect(out, 1)


def check_reduce_scatter_tensor(rank: int, size: int) -> None:
    out = ones(1)
    dist.reduce_scatter_tensor(out, mine(rank))
    expect(out, 1)


def check_scatter(rank: int, size: int) -> None:
    out = ones(2)
    dist.scatter(out, [mine(0), mine(1)] if rank == 0 else None, 0)
    expect(out, rank, rank)


def check_scatter_object_list(rank: int, size: int) -> None:
    found = [None]
    dist.scatter_object_list(found, ["a", "b"] if rank == 0 else None, 0)
    assert found == ["ab"[rank]]


def check_split_group(rank: int, size: int) -> None:
    tensor = mine(rank)
    dist.all_reduce(tensor, group=dist.split_group(split_ranks=[[0, 1]]))
    expect(tensor, 1, 1)
