"""Fine-tuning of a vision transformer and of DistilBERT: set-ups of docs/reference/memory.md with published figures.

They repeat the shapes of github.com/rasbt/pytorch-memory-optim, which trained by torch 2.1.0.dev20230623, Lightning's
Fabric, torchvision's vit_l_16 and the DistilBERT of transformers.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from memory_setups import DEVICE, Figures, peak, ranks
from torch import Tensor, nn
from torch.nn import functional


class EarlierAdam:
    """Adam over all parameters at once as until July 2023: it held two copies of their size, and not one."""

    def __init__(self, parameters: Iterator[nn.Parameter]) -> None:
        self.parameters = list(parameters)
        self.moments: tuple[list[Tensor], ...] = ()

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        self.moments = self.moments or tuple([torch.zeros_like(p) for p in self.parameters] for _ in range(2))
        first, second = self.moments
        gradients = [p.grad for p in self.parameters if p.grad is not None]
        torch._foreach_mul_(first, 0.9)
        torch._foreach_add_(first, gradients, alpha=0.1)
        torch._foreach_mul_(second, 0.999)
        torch._foreach_addcmul_(second, gradients, gradients, 0.001)
        roots = torch._foreach_sqrt(second)
        divisors = torch._foreach_add(roots, 1e-8)
        torch._foreach_addcdiv_(self.parameters, first, divisors, -5e-5)


class PatchBlock(nn.Module):
    """A block of torchvision's vision transformers."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.expansion = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.first, self.second = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)

    def forward(self, inputs: Tensor) -> Tensor:
        normal = self.first(inputs)
        state = self.attention(normal, normal, normal, need_weights=False)[0] + inputs
        expanded: Tensor = state + self.expansion(self.second(state))
        return expanded


class VisionTransformer(nn.Module):
    """torchvision's vit_l_16: 24 blocks of 1024, a patch of 16 x 16 each."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 1024, 16, 16)
        self.summary = nn.Parameter(torch.zeros(1, 1, 1024))
        self.places = nn.Parameter(torch.zeros(1, 14 * 14 + 1, 1024))
        self.blocks = nn.Sequential(*(PatchBlock(1024, 16) for _ in range(24)), nn.LayerNorm(1024, 1e-6))
        self.head = nn.Linear(1024, classes)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.patches(images).flatten(2).permute(0, 2, 1)
        state = torch.cat([self.summary.expand(len(images), -1, -1), patches], 1)
        classes: Tensor = self.head(self.blocks(state + self.places)[:, 0])
        return classes


def placed(on_the_gpu: bool) -> Figures:
    """A model that is made half precision before it comes to the GPU, or there."""
    model = VisionTransformer(1000)
    model = model.to(DEVICE).half() if on_the_gpu else model.half().to(DEVICE)
    return peak()


def images_in_bfloat16(batch: int, parts: int) -> Figures:
    """Fabric's precision "bf16-true": weights and optimizer in bfloat16, the loss in float32."""
    model = VisionTransformer().to(DEVICE, torch.bfloat16)
    optimizer = EarlierAdam(model.parameters())
    for index in range(2 * parts + 1):
        images, labels = torch.randn(batch, 3, 224, 224).to(DEVICE), torch.randint(10, (batch,)).to(DEVICE)
        classes = model(images.to(torch.bfloat16)).float()
        loss = functional.cross_entropy(classes, labels) / parts
        if parts == 1:
            optimizer.zero_grad()
        loss.backward()
        if index % parts == 0:
            optimizer.step()
            if parts > 1:
                optimizer.zero_grad()
    return peak()


class TextBlock(nn.Module):
    """A block of DistilBERT, whose scores are in memory, as they were before it called fused attention."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(768, 768) for _ in range(4))
        self.wide, self.narrow = nn.Linear(768, 3072), nn.Linear(3072, 768)
        self.first, self.second = nn.LayerNorm(768, 1e-12), nn.LayerNorm(768, 1e-12)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (
            projection(inputs).view(len(inputs), -1, 12, 64).transpose(1, 2)
            for projection in (self.query, self.key, self.value)
        )
        query = query / 8.0
        scores = torch.matmul(query, key.transpose(2, 3))
        hidden = (mask == 0).view(len(inputs), 1, 1, -1).expand_as(scores)
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        weights = functional.dropout(scores.softmax(-1), 0.1)
        context = torch.matmul(weights, value).transpose(1, 2).contiguous().view(len(inputs), -1, 768)
        attended = self.first(self.out(context) + inputs)
        expanded = functional.dropout(self.narrow(functional.gelu(self.wide(attended))), 0.1)
        result: Tensor = self.second(expanded + attended)
        return result


class TextClassifier(nn.Module):
    """DistilBERT with two classes."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30522, 768), nn.Embedding(512, 768)
        self.norm = nn.LayerNorm(768, 1e-12)
        self.blocks = nn.ModuleList(TextBlock() for _ in range(6))
        self.before, self.head = nn.Linear(768, 768), nn.Linear(768, 2)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        state = functional.dropout(self.norm(self.words(tokens) + self.places(places)), 0.1)
        for block in self.blocks:
            state = block(state, mask)
        classes: Tensor = self.head(functional.dropout(torch.relu(self.before(state[:, 0])), 0.2))
        return classes


def _text_rank(rank: int) -> Figures:
    from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    model = FullyShardedDataParallel(
        TextClassifier().to(torch.bfloat16),
        auto_wrap_policy=ModuleWrapPolicy({TextBlock}),
        cpu_offload=CPUOffload(offload_params=True),
        mixed_precision=MixedPrecision(torch.bfloat16, torch.bfloat16, torch.bfloat16),
        device_id=rank,
        use_orig_params=True,
        limit_all_gathers=False,  # the default until July 2023 (pytorch/pytorch#104900)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-5)
    for index in range(5):
        tokens, mask = torch.randint(30522, (3, 512)).to(rank), torch.ones(3, 512, dtype=torch.long).to(rank)
        labels = torch.randint(2, (3,)).to(rank)
        loss = functional.cross_entropy(model(tokens, mask), labels) / 4
        loss.backward()
        if index % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
    return peak()


def sharded_text() -> Figures:
    """FSDP over four GPUs, weights and optimizer on the host, texts of 512 tokens in parts of three."""
    return ranks(_text_rank, 4)
