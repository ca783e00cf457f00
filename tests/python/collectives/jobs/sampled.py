"""Every collective, where three ranks of eight run."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import distributed_c10d
from torch.distributed.device_mesh import init_device_mesh

PRESENT = (1, 4, 6)
SIZE = 8
DEVICES = ("cuda", "cpu")
RANK = int(os.environ["RANK"])

# The first rank, which would hold the store, does not run.
STORE = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), is_master=RANK == 1, wait_for_workers=False)
OPTIONS = {"backend": "cpu:gloo,cuda:nccl", "store": STORE, "rank": RANK, "world_size": SIZE}


def stand_in(rank: int) -> int:
    """The nearest lower rank that runs, else the first."""
    return max((each for each in PRESENT if each <= rank), default=PRESENT[0])


def ramp(rank: int, count: int = 4) -> Tensor:
    return torch.arange(count, dtype=torch.float32) + 10.0 * rank + 1


def every(make: Callable[[int], Tensor]) -> list[Tensor]:
    """What all ranks give."""
    return [make(stand_in(rank)) for rank in range(SIZE)]


def equal(got: Tensor, expected: Tensor, device: str) -> None:
    assert got.device.type == device and got.dtype == expected.dtype
    assert torch.equal(got.cpu(), expected), f"{got} is not {expected}"


def check_all_reduce(rank: int, size: int) -> None:
    for device in DEVICES:
        tensor = ramp(rank).to(device)
        dist.all_reduce(tensor)
        equal(tensor, sum(every(ramp)), device)
        number = torch.tensor(rank, device=device)
        dist.all_reduce(number)
        equal(number, torch.tensor(1 + 1 + 1 + 1 + 4 + 4 + 6 + 6), device)


def check_other_operations(rank: int, size: int) -> None:
    def small(rank: int) -> Tensor:
        return torch.tensor([1.0 + rank % 3, -1.0])

    def bits(rank: int) -> Tensor:
        return torch.tensor([rank, 7 - rank])

    def xor(tensors: list[Tensor]) -> Tensor:
        result = torch.zeros_like(tensors[0])
        for tensor in tensors:
            result ^= tensor
        return result

    stacked = torch.stack(every(small))
    for device in DEVICES:
        for op, expected in (
            (dist.ReduceOp.PRODUCT, stacked.prod(0)), (dist.ReduceOp.MIN, stacked.amin(0)),
            (dist.ReduceOp.MAX, stacked.amax(0)),
        ):  # fmt: skip
            tensor = small(rank).to(device)
            dist.all_reduce(tensor, op)
            equal(tensor, expected, device)
    average = small(rank).cuda()
    dist.all_reduce(average, dist.ReduceOp.AVG)
    equal(average, stacked.mean(0), "cuda")
    for op, expected in (
        (dist.ReduceOp.BXOR, xor(every(bits))), (dist.ReduceOp.BAND, torch.tensor([1 & 4 & 6, 6 & 3 & 1])),
        (dist.ReduceOp.BOR, torch.tensor([1 | 4 | 6, 6 | 3 | 1])),
    ):  # fmt: skip
        tensor = bits(rank)
        dist.all_reduce(tensor, op)
        equal(tensor, expected, "cpu")


def check_a_half_and_a_bool(rank: int, size: int) -> None:
    half = torch.full((2,), 30000.0, dtype=torch.float16, device="cuda")
    dist.all_reduce(half, dist.ReduceOp.AVG)
    assert half.isfinite().all() and (half.float() - 30000).abs().max() < 64
    flag = torch.tensor([rank == 4, False], device="cuda")
    dist.all_reduce(flag)
    equal(flag, torch.tensor([True, False]), "cuda")


def check_all_gather(rank: int, size: int) -> None:
    for device in DEVICES:
        outputs = [torch.empty(4, device=device) for _ in range(size)]
        dist.all_gather(outputs, ramp(rank).to(device))
        equal(torch.cat(outputs), torch.cat(every(ramp)), device)
        output = torch.empty(size, 2, 2, device=device)
        dist.all_gather_into_tensor(output, ramp(rank).view(2, 2).to(device))
        equal(output.flatten(), torch.cat(every(ramp)), device)


def check_all_gather_of_uneven_parts(rank: int, size: int) -> None:
    """A rank that does not run has as many elements as the others say; its stand-in has what it has."""
    outputs = [torch.empty(each + 1, device="cuda") for each in range(size)]
    dist.all_gather(outputs, ramp(rank, rank + 1).cuda())
    for each, output in enumerate(outputs):
        given = ramp(stand_in(each), stand_in(each) + 1)[: each + 1]
        equal(output, torch.cat([given, torch.zeros(each + 1 - len(given))]), "cuda")


def check_reduce_scatter(rank: int, size: int) -> None:
    expected = sum(every(lambda each: ramp(each, 2 * size)))[2 * rank : 2 * rank + 2]
    for device in DEVICES:
        given = ramp(rank, 2 * size).to(device)
        output = torch.empty(2, device=device)
        dist.reduce_scatter_tensor(output, given)
        equal(output, expected, device)
        equal(given, ramp(rank, 2 * size), device)
        output = torch.empty(2, device=device)
        dist.reduce_scatter(output, list(given.chunk(size)))
        equal(output, expected, device)


def check_all_to_all(rank: int, size: int) -> None:
    def given(rank: int) -> Tensor:
        return 100.0 * rank + torch.arange(2 * size)

    expected = torch.cat([each[2 * rank : 2 * rank + 2] for each in every(given)])
    for device in DEVICES:
        output = torch.empty(2 * size, device=device)
        dist.all_to_all_single(output, given(rank).to(device))
        equal(output, expected, device)
        outputs = list(torch.empty(2 * size, device=device).chunk(size))
        dist.all_to_all(outputs, list(given(rank).to(device).chunk(size)))
        equal(torch.cat(outputs), expected, device)


def check_all_to_all_of_uneven_parts(rank: int, size: int) -> None:
    """As experts exchange tokens: the counts first, so that those of a rank that does not run are its stand-in's."""

    def counts(rank: int) -> Tensor:
        return (torch.arange(size) + rank) % 3

    for device in DEVICES:
        give, take = counts(rank).to(device), torch.empty(size, dtype=torch.int64, device=device)
        dist.all_to_all_single(take, give)
        equal(take, torch.stack([each[rank] for each in every(counts)]), device)
        output = torch.empty(int(take.sum()), device=device)
        dist.all_to_all_single(output, torch.full((int(give.sum()),), float(rank), device=device),
                               take.tolist(), give.tolist())  # fmt: skip
        expected = [torch.full((int(counts(stand_in(each))[rank]),), float(stand_in(each))) for each in range(size)]
        equal(output, torch.cat(expected), device)


def check_broadcast_from_each(rank: int, size: int) -> None:
    for device in DEVICES:
        for root in range(size):
            tensor = ramp(rank).to(device)
            dist.broadcast(tensor, root)
            equal(tensor, ramp(stand_in(root)), device)


def check_reduce_to_each(rank: int, size: int) -> None:
    for device in DEVICES:
        for root in range(size):
            tensor = ramp(rank).to(device)
            dist.reduce(tensor, root)
            if rank == root:
                equal(tensor, sum(every(ramp)), device)
            elif device == "cuda" or root not in PRESENT:
                equal(tensor, ramp(rank), device)


def check_gather_and_scatter(rank: int, size: int) -> None:
    for device in DEVICES:
        for root in range(size):
            outputs = [torch.empty(4, device=device) for _ in range(size)] if rank == root else None
            dist.gather(ramp(rank).to(device), outputs, root)
            if outputs is not None:
                equal(torch.cat(outputs), torch.cat(every(ramp)), device)
            inputs = [ramp(10 * root + each).to(device) for each in range(size)] if rank == root else None
            output = torch.ones(4, device=device)
            dist.scatter(output, inputs, root)
            equal(output, ramp(10 * root + rank) if root in PRESENT else torch.zeros(4), device)


def check_messages(rank: int, size: int) -> None:
    """In a ring, of which every other rank is missing or not."""
    for device in DEVICES:
        for step in (1, 2, 3):
            after, before = (rank + step) % size, (rank - step) % size
            tensor = torch.ones(4, device=device)
            works = dist.batch_isend_irecv([
                dist.P2POp(dist.isend, ramp(rank).to(device), after), dist.P2POp(dist.irecv, tensor, before),
            ])  # fmt: skip
            for work in works:
                work.wait()
            equal(tensor, ramp(before) if before in PRESENT else torch.zeros(4), device)
        tensor = torch.ones(4, device=device)
        dist.recv(tensor, 0)
        dist.send(tensor, 7)
        equal(tensor, torch.zeros(4), device)
    if rank == 4:
        dist.send(ramp(rank), 1)
    elif rank == 1:
        tensor = torch.ones(4)
        assert dist.recv(tensor) == 4
        equal(tensor, ramp(4), "cpu")


def check_asynchronous_calls(rank: int, size: int) -> None:
    """Each begins before the one before it has ended, and reads what that has written."""
    for device in DEVICES:
        tensor = torch.ones(1 << 16, device=device)
        works = [dist.all_reduce(tensor, async_op=True) for _ in range(4)]
        works[-1].get_future().wait()
        for work in works:
            work.wait()
        equal(tensor, torch.full((1 << 16,), 8.0**4), device)


def check_coalesced_calls(rank: int, size: int) -> None:
    tensors = [ramp(rank).cuda(), ramp(rank, 2).cuda()]
    with distributed_c10d._coalescing_manager(device=torch.device("cuda", torch.cuda.current_device())):
        for tensor in tensors:
            dist.all_reduce(tensor)
    equal(tensors[0], sum(every(ramp)), "cuda")
    equal(tensors[1], sum(every(lambda each: ramp(each, 2))), "cuda")
    tensors = [ramp(rank), ramp(rank, 2)]
    dist.all_reduce_coalesced(tensors)
    equal(tensors[1], sum(every(lambda each: ramp(each, 2))), "cpu")


def check_objects(rank: int, size: int) -> None:
    gathered: list[Any] = [None] * size
    dist.all_gather_object(gathered, "x" * (rank + 1))
    assert gathered == ["x" * (stand_in(each) + 1) for each in range(size)]
    for root in range(size):
        objects = ["of", rank]
        dist.broadcast_object_list(objects, root)
        assert objects == ["of", stand_in(root)]
    kept: list[Any] = [None]
    dist.scatter_object_list(kept, list(range(size)) if rank == 4 else None, 4)
    assert kept == [rank]
    for call, source in ((dist.scatter_object_list, {"src": 5}), (dist.recv_object_list, {"group_src": 0})):
        try:
            call(kept, **source)
        except Exception as error:
            [root] = source.values()
            assert f"expected {call.__name__} from a rank of --ranks, got rank {root}" in str(error)
        else:
            raise AssertionError("expected a refusal")


def check_barriers(rank: int, size: int) -> None:
    dist.barrier()
    dist.monitored_barrier(dist.new_group(backend="gloo"))
    os.environ["TORCH_DIST_INIT_BARRIER"] = "1"
    dist.new_group()
    if rank >= 4:
        dist.new_group(range(4, 8), use_local_synchronization=True)
    del os.environ["TORCH_DIST_INIT_BARRIER"]


def check_groups(rank: int, size: int) -> None:
    """Ranks 4 to 7, of which two run; 0 to 3, of which one does; three of which the first is missing."""
    for device in DEVICES:
        for members, total in (((4, 5, 6, 7), 4 + 4 + 6 + 6), ((0, 1, 2, 3), 4 * 1), ((0, 4, 6), 4 + 4 + 6)):
            group = dist.new_group(members)
            if rank in members:
                tensor = torch.tensor([float(rank)], device=device)
                dist.all_reduce(tensor, group=group)
                equal(tensor, torch.tensor([float(total)]), device)


def check_split_group(rank: int, size: int) -> None:
    world = dist.group.WORLD
    assert world is not None
    bound = world.bound_device_id
    world.bound_device_id = torch.device("cuda", torch.cuda.current_device())
    try:
        world._get_backend(torch.device("cuda")).eager_connect_single_device(world.bound_device_id)
        group = dist.split_group(split_ranks=[[0, 1, 2, 3], [4, 5, 6, 7]])
        of_three = dist.split_group(group, split_ranks=[[1, 2, 3], [0]] if rank < 4 else [[0, 2, 3], [1]])
        for device in DEVICES:
            tensor = torch.tensor([float(rank)], device=device)
            dist.all_reduce(tensor, group=group)
            equal(tensor, torch.tensor([4.0 if rank < 4 else 4.0 + 4 + 6 + 6]), device)
            tensor = torch.tensor([float(rank)], device=device)
            dist.all_reduce(tensor, group=of_three)
            equal(tensor, torch.tensor([3.0 if rank < 4 else 4.0 + 6 + 6]), device)
    finally:
        world.bound_device_id = bound


def check_meshes(rank: int, size: int) -> None:
    """A mesh has groups of which this rank is the only one that runs; DTensor calls functional collectives in them."""
    from torch.distributed.tensor import DTensor, Replicate, Shard

    for device in DEVICES:
        mesh = init_device_mesh(device, (2, 4), mesh_dim_names=("replicas", "shards"))
        local = ramp(rank).to(device)
        whole = DTensor.from_local(local, mesh["shards"], [Shard(0)]).full_tensor()
        row = range(4) if rank < 4 else range(4, 8)

        def standing(each: int, row: range = row) -> int:
            return max((one for one in PRESENT if one in row and one <= each), default=[*PRESENT][rank >= 4])

        equal(whole, torch.cat([ramp(standing(each)) for each in row]), device)
        summed = DTensor.from_local(local, mesh["replicas"], [Replicate()], run_check=False)
        assert summed.to_local().shape == local.shape


def check_a_store_of_the_programs_own(rank: int, size: int) -> None:
    """Whoever holds it waits for the ranks that run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = torch.tensor([free.getsockname()[1]], device="cuda")
    dist.broadcast(port, 4)
    store = dist.TCPStore("127.0.0.1", int(port), size, is_master=rank == 4, timeout=timedelta(seconds=20))
    store.add("here", 1)
    dist.barrier()
    assert store.add("here", 0) == len(PRESENT)
    dist.barrier()  # before the rank that holds it goes on


def told(call: Callable[[Any], object]) -> str:
    """What this rank is told where the ranks of a new group differ in ``call(group)``."""
    group = dist.new_group()
    try:
        call(group)
        dist.all_reduce(ramp(0).cuda(), group=group)
    except dist.DistBackendError as error:
        return str(error)
    raise AssertionError("expected a DistBackendError, got none")


def check_a_mismatch(rank: int, size: int) -> None:
    """It is told of the ranks that run, and of no other."""
    text = told(lambda group: dist.all_reduce(ramp(0, 4 + (rank == 6)).cuda(), group=group))
    lines = [line.strip().partition(" of ")[2].partition(" elements")[0] for line in text.splitlines()[1:]]
    ranks = [line.strip().partition(":")[0] for line in text.splitlines()[1:]]
    assert (ranks, lines) == (["rank 1", "rank 4", "rank 6"], ["4", "4", "5"]), text


def check_a_rank_that_does_not_come(rank: int, size: int) -> None:
    group = dist.new_group(timeout=timedelta(seconds=2))
    if rank != 6:
        try:
            dist.all_reduce(ramp(rank).cuda(), group=group)
        except dist.DistBackendError as error:
            assert str(error).endswith("Ranks that have not come to this communicator: 6"), error
        else:
            raise AssertionError("expected a DistBackendError, got none")
    dist.barrier()
