"""Small jobs as users write them: a function each, which calls ``at`` at its moments."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

At = Callable[[str], None]


def _train(at: At, model: nn.Module, optimizer: torch.optim.Optimizer, batch: Callable[[], torch.Tensor]) -> None:
    for step in range(2):
        loss = batch()
        at(f"forward {step}")
        loss.backward()
        at(f"backward {step}")
        optimizer.step()
        optimizer.zero_grad()
        at(f"step {step}")


def perceptron_with_adamw(at: At) -> None:
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Dropout(0.1), nn.Linear(128, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    inputs, labels = torch.randn(16, 64, device="cuda"), torch.randint(10, (16,), device="cuda")
    _train(at, model, optimizer, lambda: functional.cross_entropy(model(inputs), labels))


def convolutions_with_momentum(at: At) -> None:
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
    inputs = torch.randn(4, 3, 16, 16).cuda()
    _train(at, model, optimizer, lambda: model(inputs).logsumexp(1).mean())


def transformer_in_bfloat16(at: At) -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to("cuda", torch.bfloat16)
    optimizer = torch.optim.Adam(model.parameters(), fused=False)
    inputs = torch.randn(2, 12, 32, device="cuda", dtype=torch.bfloat16)
    _train(at, model, optimizer, lambda: model(inputs).float().pow(2).mean())


def recurrent(at: At) -> None:
    # Without a backward pass: its parts on the host and on the GPU run in two threads.
    model = nn.GRU(16, 32, num_layers=2, bidirectional=True, batch_first=True).cuda()
    with torch.inference_mode():
        outputs, hidden = model(torch.randn(4, 10, 16, device="cuda"))
        at(f"{outputs.stride()} {hidden.stride()}")


def two_halves(at: At) -> None:
    first, second = nn.Linear(32, 64).to("cuda:0"), nn.Linear(64, 8).to("cuda:1")
    optimizer = torch.optim.AdamW([*first.parameters(), *second.parameters()], foreach=True)
    inputs = torch.randn(8, 32)
    _train(at, first, optimizer, lambda: second(first(inputs.to("cuda:0")).relu().to("cuda:1")).square().sum())


def mixed_precision(at: At) -> None:
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.randn(4, 32, device="cuda")
    for step in range(2):
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(inputs).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        at(f"clipped {step}")
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


def checkpointed(at: At) -> None:
    from torch.utils.checkpoint import checkpoint

    model = nn.ModuleList([nn.Linear(32, 32) for _ in range(4)]).cuda()
    hidden = torch.randn(8, 32, device="cuda", requires_grad=True)
    for layer in model:
        hidden = checkpoint(lambda given, layer=layer: layer(given).tanh(), hidden, use_reentrant=False)
        at("layer")
    hidden.sum().backward()
    at("backward")


def key_value_cache(at: At) -> None:
    keys = torch.zeros(1, 2, 0, 8, device="cuda")
    mask = torch.ones(1, 4, dtype=torch.bool, device="cuda")
    for step in range(4):
        keys = torch.cat([keys, torch.randn(1, 2, 1, 8, device="cuda")], dim=2)
        scores = torch.einsum("bhqd,bhkd->bhqk", torch.randn(1, 2, 1, 8, device="cuda"), keys)
        scores = scores.masked_fill(~mask[:, None, None, : step + 1], float("-inf")).softmax(-1)
        at(f"token {step}")
    embedded = functional.embedding(scores.argmax(-1), torch.randn(8, 6, device="cuda"))
    at(str(tuple(embedded.shape)))


def views_and_writes(at: At) -> None:
    base = torch.zeros(6, 4, device="cuda")
    base[1:3].fill_(2)
    base.t()[0] += 1
    base[torch.tensor([0, 2], device="cuda")] = 5
    base.index_add_(0, torch.tensor([1], device="cuda"), torch.ones(1, 4, device="cuda"))
    out = torch.empty(0, device="cuda")
    torch.mm(base, base.t(), out=out)
    at(str(tuple(out.shape)))
    chunks = base.view(2, 12).chunk(3, dim=1)
    joined = torch.stack([chunk.contiguous() for chunk in chunks]).permute(2, 0, 1).reshape(-1)
    at(str(joined.stride()))
    host = base.cpu().pin_memory()
    base.copy_(host, non_blocking=True)
    at(str(host.is_pinned()))
    values, places = base.topk(2, dim=1)
    base.scatter_(1, places, values)
    at(str(values.sort(descending=True).indices.dtype))


def two_gpus_meet(at: At) -> None:
    layer = nn.Linear(8, 8).to("cuda:1")
    at("made")
    layer(torch.randn(2, 8, device="cuda:0"))


def host_and_gpu_meet(at: At) -> None:
    torch.cat([torch.randn(3, device="cuda:1"), torch.randn(3)])


def indices_of_another_gpu(at: At) -> None:
    functional.embedding(torch.randint(4, (2,), device="cuda:1"), torch.randn(4, 2, device="cuda:0"))


def shapes_that_do_not_match(at: At) -> None:
    torch.randn(3, 4, device="cuda") @ torch.randn(5, 2, device="cuda")


def dtypes_that_do_not_match(at: At) -> None:
    functional.linear(torch.randn(3, 4, device="cuda"), torch.randn(5, 4, device="cuda", dtype=torch.half))


def more_than_the_gpu_has(at: At) -> None:
    kept = []
    while True:
        kept.append(torch.randn(1 << 20, device="cuda"))
        at(f"{len(kept)} of 4 MiB")
        kept.append(kept[-1] * 2)
