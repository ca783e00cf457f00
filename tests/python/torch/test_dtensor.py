"""torch.distributed over emulated GPUs with one rank: gloo carries the collectives out in host memory."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor, init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

Same = Callable[..., None]


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[dist.device_mesh.DeviceMesh]:
    dist.init_process_group("cpu:gloo,cuda:gloo", rank=0, world_size=1, init_method=f"file://{tmp_path}/rendezvous")
    try:
        yield init_device_mesh("cuda", (1,))
    finally:
        dist.destroy_process_group()


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))


def test_collectives(same: Same, mesh: dist.device_mesh.DeviceMesh) -> None:
    t = torch.arange(3.0, device="cuda:1")
    dist.all_reduce(t)
    dist.broadcast(t, 0)
    gathered = [torch.zeros_like(t)]
    dist.all_gather(gathered, t)
    same(gathered[0], torch.arange(3.0))
    work = dist.all_reduce(t, async_op=True)
    work.wait()
    same(t, torch.arange(3.0))
    dist.barrier()
    same(dist._functional_collectives.all_reduce(t, "sum", mesh) + 0, torch.arange(3.0))


def test_sharded_tensors(same: Same, mesh: dist.device_mesh.DeviceMesh) -> None:
    a = torch.randn(4, 4)
    sharded = distribute_tensor(a.cuda(), mesh, [Shard(0)])
    assert isinstance(sharded, DTensor) and sharded.device.type == "cuda"
    product = (sharded @ sharded.t()).redistribute(mesh, [Replicate()])
    same(product.to_local(), a @ a.t(), "cuda:0")
    same(sharded.full_tensor(), a, "cuda:0")
    same(torch.distributed.tensor.ones(2, 2, device_mesh=mesh).to_local(), torch.ones(2, 2), "cuda:0")


def test_parallel_modules(same: Same, mesh: dist.device_mesh.DeviceMesh) -> None:
    model, x = network(), torch.randn(3, 4)
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallel = parallelize_module(copy.deepcopy(model).cuda(), mesh, plan)
    output = parallel(x.cuda())
    same(output, model(x), "cuda:0")
    output.sum().backward()
    model(x).sum().backward()
    same(parallel[0].weight.grad.full_tensor(), model[0].weight.grad, "cuda:0")
    replicated = distribute_module(copy.deepcopy(model).cuda(), mesh)
    same(replicated(distribute_tensor(x.cuda(), mesh, [Replicate()])).to_local(), model(x), "cuda:0")


def test_data_parallel(same: Same, mesh: dist.device_mesh.DeviceMesh) -> None:
    from torch.distributed.fsdp import fully_shard

    model, x = network(), torch.randn(3, 4)
    model(x).sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped = nn.parallel.DistributedDataParallel(copy.deepcopy(model).cuda(), device_ids=[0])
    wrapped.zero_grad()
    wrapped(x.cuda()).sum().backward()
    same(wrapped.module[0].weight.grad, model[0].weight.grad, "cuda:0")
    sharded = copy.deepcopy(model).cuda()
    sharded.zero_grad()
    fully_shard(sharded, mesh=mesh)
    output = sharded(x.cuda())
    same(output, model(x), "cuda:0")
    output.sum().backward()
    same(sharded[0].weight.grad.full_tensor(), model[0].weight.grad, "cuda:0")
