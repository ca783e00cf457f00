"""What torch's own wrappers place: DataParallel, DistributedDataParallel, both kinds of FSDP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn


def net() -> nn.Module:
    made = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    made.register_buffer("mean", torch.ones(8))
    return made


def test_data_parallel(told: Callable[[Any], Any]) -> None:
    wrapped = nn.DataParallel(net().cuda(), device_ids=[0, 1])
    seen: dict[str, Any] = {}
    wrapped.module[0].register_forward_hook(
        lambda module, given, result: seen.update({str(result.device): (given[0], module.weight)})
    )
    result = wrapped(torch.ones(4, 8, device="cuda:0"))
    given, weight = seen["cuda:1"]
    assert told(given).who == ("cuda:1", "torch.nn.DataParallel", "scatter", "device_ids")
    assert told(weight).who == ("cuda:1", "torch.nn.DataParallel", "replicate", "device_ids")
    assert told(result).who == ("cuda:0", "torch.nn.DataParallel", "gather", "output_device")
    assert told(result).line.startswith("result = wrapped(")


def test_ddp_moves_inputs_and_leaves_parameters(one_rank: None, told: Callable[[Any], Any]) -> None:
    model = net()
    model = model.to("cuda:0")
    wrapped = nn.parallel.DistributedDataParallel(model, device_ids=[0])
    seen: list[Any] = []
    model[0].register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    wrapped(torch.ones(2, 8)).sum().backward()
    assert told(model[0].weight).who == ("cuda:0", "program", "Module.to", "")
    assert told(model[0].weight).kinds[0] == "MOVED"  # the broadcast into it placed nothing
    assert told(seen[0]).who == ("cuda:0", "DDP", "DistributedDataParallel", "device_ids")


def test_a_gradient_is_where_the_loss_was(told: Callable[[Any], Any]) -> None:
    from devsan.introspect.provenance.reader import ProvenanceReader

    model = net().to("cuda:1")
    loss = model(torch.ones(2, 8, device="cuda:1")).sum()
    loss.backward()
    provenance = ProvenanceReader().of(model[0].weight.grad)
    assert [(event.kind.name, event.followed) for event in provenance][-1] == ("COMPUTED", "loss")
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.step()
    state = told(optimizer.state[model[0].weight]["exp_avg"])
    assert state.who == ("cuda:1", "program", "optimizer", "")
    assert state.line == "optimizer.step()"


@pytest.mark.filterwarnings("ignore")
def test_fsdp(one_rank: None, told: Callable[[Any], Any]) -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = net()
    wrapped = FullyShardedDataParallel(model, device_id=0)
    seen: list[Any] = []
    model[0].register_forward_pre_hook(lambda module, given: seen.extend((given[0], module.weight)))
    wrapped(torch.ones(2, 8))
    expected = ("cuda:0", "FSDP", "FullyShardedDataParallel")
    assert told(next(wrapped.parameters())).who == (*expected, "device_id=0")
    assert told(model.mean).who == (*expected, "device_id=0")
    assert told(seen[0]).who == (*expected, "device_id")  # not DDP, whose code moves it
    assert told(seen[1]).who[:3] == expected


@pytest.mark.filterwarnings("ignore")
def test_fsdp_with_offload(one_rank: None, told: Callable[[Any], Any]) -> None:
    from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel

    wrapped = FullyShardedDataParallel(net(), device_id=0, cpu_offload=CPUOffload(offload_params=True))
    wrapped(torch.ones(2, 8)).sum().backward()
    shard = next(wrapped.parameters())
    expected = ("cpu", "FSDP", "FullyShardedDataParallel")
    assert told(shard).who == (*expected, "cpu_offload=CPUOffload(offload_params=True)")
    assert told(shard.grad).who[:3] == expected  # pinned


def test_fully_shard(one_rank: None, told: Callable[[Any], Any]) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cuda", (1,))
    model = fully_shard(net(), mesh=mesh)
    seen: list[Any] = []
    model[0].register_forward_pre_hook(lambda module, given: seen.extend((given[0], module.weight)))
    model(torch.ones(2, 8))
    assert told(model[0].weight).who[:3] == ("cuda:0", "FSDP", "fully_shard")
    assert told(seen[0]).who[:3] == ("cuda:0", "FSDP", "fully_shard")
    assert told(seen[1]).who[:3] == ("cuda:0", "FSDP", "fully_shard")
