"""Usual training set-ups, each of which says how much memory it took: the rows of docs/reference/memory.md.

They use torch alone, so that they run on a real GPU as on an emulated one. A function returns bytes by what they are.
Those with a published figure repeat the shapes of the program that it was measured with.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

Figures = dict[str, int]
DEVICE = "cuda"


def peak() -> Figures:
    """The two figures that torch.cuda gives of a whole program."""
    return {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}


def train(parameters: Iterator[nn.Parameter], step: Callable[[], Tensor], steps: int = 2) -> Figures:
    """Trains by AdamW. The second step is the first one with the optimizer's state, and so the largest."""
    optimizer = torch.optim.AdamW([p for p in parameters if p.requires_grad])
    for _ in range(steps):
        optimizer.zero_grad()
        step().backward()
        optimizer.step()
    return peak()


# Published figures.


def first_product() -> Figures:
    layer = nn.Linear(1, 1, device=DEVICE)
    layer(torch.randn(1, 1, device=DEVICE))
    del layer
    return {"kept": torch.cuda.memory_allocated()}


def one_weight(batch: int, parts: int) -> Figures:
    weight = torch.randn(1024, 32, device=DEVICE, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.01)
    rows = torch.randn(512, 32, 1024)
    for start in range(0, len(rows), batch * parts):
        optimizer.zero_grad()
        for part in range(parts):
            # Both names hold the last part while the next one is copied.
            inputs = rows[start + part * batch :][:batch].to(DEVICE)
            products = inputs.matmul(weight)
            loss = products.sum()
            loss.backward()
        optimizer.step()
    return peak()


def wide_layers() -> Figures:
    widths = (1000, 40000, 1000, 5)
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    model = nn.Sequential(*layers).to(DEVICE)
    inputs = torch.randn(10, widths[0], device=DEVICE, requires_grad=True)
    checkpoint_sequential(layers, 2, inputs, use_reentrant=True).sum().backward()
    figures = {"checkpointed": torch.cuda.max_memory_allocated()}
    kept = [p.grad.clone() for p in model.parameters()]
    outputs = model(inputs.clone().detach())
    model.zero_grad()
    outputs.sum().backward()
    figures["then without"] = torch.cuda.max_memory_allocated()
    del kept
    return figures


def scores_in_memory() -> Figures:
    query, key, value = (torch.randn(8, 1024, 64, device=DEVICE, requires_grad=True) for _ in range(3))

    def softmax(scores: Tensor) -> Tensor:
        lowered = scores - scores.max(-1, keepdim=True).values
        raised = torch.exp(lowered)
        return raised / raised.sum(-1, keepdim=True)

    def forward() -> Tensor:
        scores = torch.bmm(query, key.transpose(1, 2)) / 8.0
        return torch.bmm(softmax(scores), value).sum()

    for _ in range(5):
        forward().backward()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    loss = forward()
    figures = {"forward": torch.cuda.max_memory_allocated(), "kept": torch.cuda.memory_allocated() - before}
    del loss
    return figures


class Block(nn.Module):
    """A block of a transformer whose attention returns its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(512, 4, batch_first=True)
        self.wide, self.narrow = nn.Linear(512, 2048), nn.Linear(2048, 512)
        self.first, self.second = nn.LayerNorm(512), nn.LayerNorm(512)

    def attend(self, inputs: Tensor) -> Tensor:
        normal = self.first(inputs)
        return inputs + self.attention(normal, normal, normal, need_weights=True)[0]

    def expand(self, inputs: Tensor) -> Tensor:
        return inputs + self.narrow(functional.relu(self.wide(self.second(inputs))))


def blocks_with_checkpoints() -> Figures:
    """Four models one after the other, each of which stays: a checkpoint of neither half, of both, of one."""
    inputs = torch.randn(1, 4096, 512, dtype=torch.bfloat16, device=DEVICE)
    models = [nn.ModuleList(Block().to(DEVICE, torch.bfloat16) for _ in range(12)) for _ in range(4)]
    figures = {}
    choices = {
        "neither": (False, False),
        "both": (True, True),
        "wide layers": (False, True),
        "attention": (True, False),
    }
    for model, (name, chosen) in zip(models, choices.items(), strict=True):
        torch.cuda.reset_peak_memory_stats()

        def step(model: nn.ModuleList = model, chosen: tuple[bool, bool] = chosen) -> Tensor:
            state = inputs
            for index, block in enumerate(model):
                for half, is_chosen in zip((block.attend, block.expand), chosen, strict=True):
                    checkpointed = is_chosen and index > 0
                    state = checkpoint(half, state, use_reentrant=False) if checkpointed else half(state)
            return state.mean()

        figures[name] = train(model.parameters(), step)["allocated"]
    return figures


def ranks(work: Callable[[int], Figures], count: int = 2) -> Figures:
    """What rank 0 of some says."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]), WORLD_SIZE=str(count))
    context = torch.multiprocessing.get_context("spawn")
    said = context.SimpleQueue()
    torch.multiprocessing.spawn(_rank, (work, said), nprocs=count, join=True)
    return said.get()


def _rank(rank: int, work: Callable[[int], Figures], said: Any) -> None:
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", rank=rank)
    figures = work(rank)
    if rank == 0:
        said.put(figures)
    torch.distributed.destroy_process_group()


def _with_adam(rank: int, shards: bool) -> Figures:
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel

    figures = {}
    model = nn.Sequential(*(nn.Linear(2000, 2000).to(rank) for _ in range(20)))
    figures["model"] = torch.cuda.max_memory_allocated()
    replica = DistributedDataParallel(model, device_ids=[rank])
    figures["replica"] = torch.cuda.max_memory_allocated()
    # A parameter at a time, as torch did when these figures were measured.
    options: dict[str, Any] = {"lr": 0.01, "foreach": False}
    if shards:
        optimizer = ZeroRedundancyOptimizer(replica.parameters(), optimizer_class=torch.optim.Adam, **options)
    else:
        optimizer = torch.optim.Adam(replica.parameters(), **options)
    outputs = replica(torch.randn(20, 2000).to(rank))
    functional.mse_loss(outputs, torch.randn(20, 2000).to(rank)).backward()
    figures["before the step"] = torch.cuda.max_memory_allocated()
    optimizer.step()
    figures["after the step"] = torch.cuda.max_memory_allocated()
    return figures


def _zero_rank(rank: int) -> Figures:
    return _with_adam(rank, shards=True)


def _replica_rank(rank: int) -> Figures:
    return _with_adam(rank, shards=False)


def replicas() -> Figures:
    return ranks(_replica_rank)


def zero() -> Figures:
    return ranks(_zero_rank)


# Set-ups without a published figure.


def convolutions(low_precision: bool) -> Figures:
    def stage(before: int, after: int, stride: int) -> list[nn.Module]:
        return [nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]

    layers = [*stage(3, 64, 2), *stage(64, 128, 2), *stage(128, 256, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    model = nn.Sequential(*layers, nn.Linear(256, 1000)).to(DEVICE)
    images, labels = torch.randn(32, 3, 128, 128, device=DEVICE), torch.randint(1000, (32,), device=DEVICE)

    def step() -> Tensor:
        with torch.autocast("cuda", torch.bfloat16, enabled=low_precision):
            return functional.cross_entropy(model(images), labels)

    return train(model.parameters(), step)


def encoder(low_precision: bool) -> Figures:
    """Four layers of BERT base with dropout, over 8 sequences of 256."""
    layer = nn.TransformerEncoderLayer(768, 12, 3072, 0.1, "gelu", batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).to(DEVICE)
    words = nn.Embedding(30522, 768, device=DEVICE)
    tokens = torch.randint(30522, (8, 256), device=DEVICE)

    def step() -> Tensor:
        with torch.autocast("cuda", torch.bfloat16, enabled=low_precision):
            return model(words(tokens)).float().pow(2).mean()

    return train([*model.parameters(), *words.parameters()], step)  # type: ignore[arg-type]


class Decoder(nn.Module):
    """A layer of Llama, with adapters beside the projections where a rank is given."""

    def __init__(self, rank: int = 0) -> None:
        super().__init__()
        self.first, self.second = nn.RMSNorm(1024), nn.RMSNorm(1024)
        self.q, self.o = nn.Linear(1024, 1024, bias=False), nn.Linear(1024, 1024, bias=False)
        self.k, self.v = nn.Linear(1024, 256, bias=False), nn.Linear(1024, 256, bias=False)
        self.gate, self.up = nn.Linear(1024, 2816, bias=False), nn.Linear(1024, 2816, bias=False)
        self.down = nn.Linear(2816, 1024, bias=False)
        if rank:
            self.requires_grad_(False)
            self.adapter = nn.Sequential(nn.Linear(1024, rank, bias=False), nn.Linear(rank, 1024, bias=False))

    def forward(self, state: Tensor) -> Tensor:
        normal = self.first(state)
        query, key, value = (
            projection(normal).unflatten(-1, (-1, 64)).transpose(1, 2) for projection in (self.q, self.k, self.v)
        )
        if hasattr(self, "adapter"):
            query = query + self.adapter(normal).unflatten(-1, (-1, 64)).transpose(1, 2)
        key, value = (shared.repeat_interleave(4, 1) for shared in (key, value))
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        state = state + self.o(attended.transpose(1, 2).flatten(2))
        normal = self.second(state)
        return state + self.down(functional.silu(self.gate(normal)) * self.up(normal))


def decoder(dtype: torch.dtype, backend: SDPBackend | None = None, checkpoints: bool = False, rank: int = 0) -> Figures:
    layers = nn.ModuleList(Decoder(rank) for _ in range(4)).to(DEVICE, dtype)
    state = torch.randn(2, 1024, 1024, device=DEVICE, dtype=dtype, requires_grad=checkpoints)
    chosen: AbstractContextManager[Any] = sdpa_kernel(backend) if backend is not None else nullcontext()

    def step() -> Tensor:
        hidden = state
        for layer in layers:
            hidden = checkpoint(layer, hidden, use_reentrant=False) if checkpoints else layer(hidden)
        return hidden.float().pow(2).mean()

    with chosen:
        return train(layers.parameters(), step)


def _sharded_rank(rank: int) -> Figures:
    from torch.distributed.fsdp import fully_shard

    layers = nn.Sequential(*(Decoder() for _ in range(4))).to(rank, torch.bfloat16)
    for layer in layers:
        fully_shard(layer)
    fully_shard(layers)
    torch.cuda.reset_peak_memory_stats()
    state = torch.randn(2, 1024, 1024, device=rank, dtype=torch.bfloat16)
    return train(layers.parameters(), lambda: layers(state).float().pow(2).mean())


def sharded() -> Figures:
    return ranks(_sharded_rank)
