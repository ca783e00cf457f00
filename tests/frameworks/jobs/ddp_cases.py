"""DistributedDataParallel: how gradients are put in buckets, reduced and given back."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import torch
import torch.distributed as dist
from rank import Network, Rank, Record, network, optimizer_of, refusal, train
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def wrapped(rank: Rank, model: nn.Module | None = None, **options: Any) -> DistributedDataParallel:
    model = model or network()
    return DistributedDataParallel(model.to(rank.device), device_ids=rank.device_ids, **options)


def trained(rank: Rank, model: DistributedDataParallel, **options: Any) -> Record:
    losses = train(model, rank.batches(), **options)
    return {"losses": losses, "weights": model.module.state_dict()}


def plain(rank: Rank) -> Record:
    return trained(rank, wrapped(rank))


def buckets(rank: Rank) -> Record:
    model = wrapped(rank, bucket_cap_mb=0.002)
    record = trained(rank, model)
    sizes = model._get_ddp_logging_data()["rebuilt_bucket_sizes"]
    assert len(sizes.split(",")) > 2, f"expected several buckets, got {sizes}"
    return record


class Branches(Network):
    """Uses one of its blocks, by the step and the rank."""

    def __init__(self, rank: Rank) -> None:
        super().__init__()
        self.calls = rank.number

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        scores: torch.Tensor = self.out(self.blocks[self.calls // 2 % 2](self.into(x)))
        return scores


def unused_parameters(rank: Rank) -> Record:
    torch.manual_seed(0)
    return trained(rank, wrapped(rank, Branches(rank), find_unused_parameters=True))


def bucket_views(rank: Rank) -> Record:
    model = wrapped(rank, gradient_as_bucket_view=True)
    storages: set[int] = set()

    def look() -> None:
        storages.update(p.grad.untyped_storage().data_ptr() for p in model.parameters() if p.grad is not None)

    record = trained(rank, model, after_backward=look)
    assert len(storages) < len(list(model.parameters())), "expected gradients to be views of buckets"
    return record


class Checkpointed(Network):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.into(x)
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=True)
        scores: torch.Tensor = self.out(x)
        return scores


def static_graph(rank: Rank) -> Record:
    torch.manual_seed(0)
    return trained(rank, wrapped(rank, Checkpointed(), static_graph=True))


def hooked(rank: Rank, hook: Any, state: Any = None, bucket_cap_mb: float = 0.002) -> Record:
    model = wrapped(rank, bucket_cap_mb=bucket_cap_mb)
    model.register_comm_hook(state, hook)
    return trained(rank, model)


def fp16_compression(rank: Rank) -> Record:
    return hooked(rank, default_hooks.fp16_compress_hook)


def bf16_compression(rank: Rank) -> Record:
    if rank.on_gpu:
        return hooked(rank, default_hooks.bf16_compress_hook)
    # DDP refuses the hook, by its name, where there is no NCCL.
    return hooked(rank, lambda group, bucket: default_hooks.bf16_compress_hook(group, bucket))


def power_state() -> powerSGD_hook.PowerSGDState:
    return powerSGD_hook.PowerSGDState(None, 1, start_powerSGD_iter=2, min_compression_rate=0.5)


def power_sgd(rank: Rank) -> Record:
    return hooked(rank, powerSGD_hook.powerSGD_hook, power_state(), bucket_cap_mb=25)


def power_sgd_in_fp16(rank: Rank) -> Record:
    hook = default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook)
    return hooked(rank, hook, power_state(), bucket_cap_mb=25)


def power_sgd_of_buckets(rank: Rank) -> Record:
    """Several buckets, whose callbacks issue further collectives: NCCL's futures are complete at once, so the order is
    that of the program. gloo's threads issue them in any order, so that ranks can wait for each other forever: the CPU
    waits for each bucket here."""

    def one_by_one(state, bucket):  # DDP reads annotations, and wants them to be types
        future = powerSGD_hook.powerSGD_hook(state, bucket)
        future.wait()
        return future

    return hooked(rank, powerSGD_hook.powerSGD_hook if rank.on_gpu else one_by_one, power_state())


def python_hook(rank: Rank) -> Record:
    devices = set()

    def halve_and_reduce(group, bucket):  # DDP reads annotations, and wants them to be types
        devices.add(str(bucket.buffer().device))
        work = dist.all_reduce(bucket.buffer() / 2, async_op=True)
        return work.get_future().then(lambda future: future.value()[0])

    record = hooked(rank, halve_and_reduce)
    assert devices == {str(rank.device)}, devices
    return record


def no_sync(rank: Rank) -> Record:
    model, losses = wrapped(rank), []
    optimizer = optimizer_of(model)
    for step, (points, labels) in enumerate(rank.batches(6)):
        last = step % 3 == 2
        with contextlib.nullcontext() if last else model.no_sync():
            loss = torch.nn.functional.cross_entropy(model(points), labels) / 3
            loss.backward()
        losses.append(loss.item())
        if last:
            optimizer.step()
            optimizer.zero_grad()
    return {"losses": losses, "weights": model.module.state_dict()}


def join(rank: Rank) -> Record:
    model, losses = wrapped(rank), []
    optimizer = optimizer_of(model)
    with model.join():
        for points, labels in rank.batches(3 + 2 * rank.number):
            loss = torch.nn.functional.cross_entropy(model(points), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return {"losses": losses, "weights": model.module.state_dict()}


def buffers(rank: Rank) -> Record:
    torch.manual_seed(rank.number)  # DDP makes them equal
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    return trained(rank, wrapped(rank, model))


def clipping(rank: Rank) -> Record:
    model = wrapped(rank)
    norms: list[torch.Tensor] = []
    record = trained(
        rank, model, after_backward=lambda: norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.1))
    )
    return {**record, "norms": norms}


def mixed_precision(rank: Rank) -> Record:
    """autocast and a GradScaler. Without a norm and with the loss in float32: CPU and CUDA cast other operators."""
    torch.manual_seed(0)
    model, losses = wrapped(rank, nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))), []
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler(rank.device.type, 2.0**8)
    for points, labels in rank.batches():
        with torch.autocast(rank.device.type, dtype=torch.bfloat16):
            scores = model(points)
        loss = torch.nn.functional.cross_entropy(scores.float(), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss.item())
    return {"losses": losses, "weights": model.module.state_dict(), "scale": scaler.get_scale()}


def native_mixed_precision(rank: Rank) -> Record:
    """DDP's own: parameters and gradients in bfloat16, sums and weights in float32. By hand on the CPU, where DDP wants
    events of the device."""
    from torch.nn.parallel.distributed import _MixedPrecision

    if rank.on_gpu:
        precision = _MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.float32)
        model = wrapped(rank, mixed_precision=precision)
        # Not a step: what torch reduces first are not the gradients (see reducer_alone.py).
        [(points, labels)] = rank.batches(1)
        torch.nn.functional.cross_entropy(model(points), labels).backward()
        model.zero_grad()
        return trained(rank, model)
    model, losses = network(), []
    optimizer = optimizer_of(model)
    for points, labels in rank.batches():
        low = copy.deepcopy(model).bfloat16()
        loss = torch.nn.functional.cross_entropy(low(points.bfloat16()), labels)
        loss.backward()
        for p, of_low in zip(model.parameters(), low.parameters(), strict=True):
            p.grad = of_low.grad.float() / rank.world
            dist.all_reduce(p.grad)
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "weights": model.state_dict()}


def zero_redundancy(rank: Rank) -> Record:
    model = wrapped(rank)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.01)
    record = trained(rank, model, optimizer=optimizer)
    optimizer.consolidate_state_dict(to=0)
    state = optimizer.state_dict()["state"] if rank.number == 0 else {}
    return {**record, "state": {str(key): dict(value) for key, value in state.items()}}


def zero_redundancy_buckets(rank: Rank) -> Record:
    model = wrapped(rank)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.SGD, parameters_as_bucket_view=True, lr=0.1, momentum=0.9
    )
    return trained(rank, model, optimizer=optimizer)


def uneven_with_zero_redundancy(rank: Rank) -> Record:
    from torch.distributed.algorithms.join import Join

    model = wrapped(rank)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    with Join([model, optimizer]):
        losses = train(model, rank.batches(2 + rank.number), optimizer)
    return {"losses": losses, "weights": model.module.state_dict()}


def averaged_after_steps(rank: Rank) -> Record:
    """Local SGD: the weights are averaged every second step instead of the gradients."""
    from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from torch.distributed.optim import PostLocalSGDOptimizer

    model = wrapped(rank)
    model.register_comm_hook(PostLocalSGDState(None, dist.group.WORLD, start_localSGD_iter=1), post_localSGD_hook)
    averager = PeriodicModelAverager(period=2, warmup_steps=1)
    optimizer: Any = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), averager)
    return trained(rank, model, optimizer=optimizer)


def two_devices_a_rank(rank: Rank) -> Record:
    """A rank's model lies on two GPUs of its own; DDP gets no device_ids."""

    class Halves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.second(self.first(x.to(self.first.weight.device)).to(self.second.weight.device))
            return scores.to(x.device)

    torch.manual_seed(0)
    model = Halves()
    if rank.on_gpu:
        model.first.to(f"cuda:{rank.number}")
        model.second.to(f"cuda:{rank.number + rank.world}")
    return trained(rank, DistributedDataParallel(model))


def synchronized_batch_norm(rank: Rank) -> Record:
    """On the CPU, which has no SyncBatchNorm: one batch norm over the batches of all ranks."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)).to(rank.device)
    if rank.on_gpu:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        assert isinstance(model[1], nn.SyncBatchNorm)
        losses = train(wrapped(rank, model), rank.batches(), torch.optim.SGD(model.parameters(), lr=0.1))
        mean = torch.tensor(losses, device=rank.device)
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        return {"losses": mean, "weights": model.state_dict()}
    parts = [Rank(other, rank.world, rank.device, "").batches() for other in range(rank.world)]
    whole = [
        (torch.cat([points for points, _ in step]), torch.cat([labels for _, labels in step]))
        for step in zip(*parts, strict=True)
    ]
    losses = train(model, whole, torch.optim.SGD(model.parameters(), lr=0.1))
    return {"losses": torch.tensor(losses), "weights": model.state_dict()}


def refusals(rank: Rank) -> Record:
    """What DDP refuses by itself, in its words; the same on a GPU machine."""
    beyond = f"cuda:{rank.number + rank.world}"
    split = nn.Sequential(nn.Linear(8, 8).to(rank.device), nn.Linear(8, 8).to(beyond))
    frozen = network().to(rank.device).requires_grad_(False)
    said = {
        "several ids": refusal(lambda: DistributedDataParallel(network().to(rank.device), device_ids=[0, 1])),
        "split": refusal(lambda: DistributedDataParallel(split, device_ids=[rank.device.index])),
        "nothing to train": refusal(lambda: DistributedDataParallel(frozen, device_ids=rank.device_ids)),
        "on the CPU": refusal(lambda: DistributedDataParallel(network())),
    }
    model = wrapped(rank, unused := nn.ModuleList([nn.Linear(8, 3), nn.Linear(8, 3)]))
    unused.forward = lambda x: unused[0](x)  # type: ignore[method-assign]
    [(points, _)] = rank.batches(1)
    model(points).sum().backward()
    said["not all were used"] = refusal(lambda: model(points))
    return said
