# expect: DV108 | gpus: 2 | operands: self.anchors[level][:, None, None], raw[..., 2:].exp() | owner: program
"""YOLO-like head: the anchors of each level in a list of tensors, model replicated by hand with deepcopy."""

import copy

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, channels, sizes):
        super().__init__()
        self.anchors = [torch.tensor(size).float() for size in sizes]
        self.convs = nn.ModuleList(nn.Conv2d(channels, 4 * len(size), 1) for size in sizes)

    def decode(self, raw, level):
        b, _, h, w = raw.shape
        raw = raw.view(b, -1, 4, h, w).permute(0, 1, 3, 4, 2)
        wh = raw[..., 2:].exp() * self.anchors[level][:, None, None]
        return torch.cat([raw[..., :2].sigmoid(), wh], dim=-1).flatten(1, 3)

    def forward(self, features):
        return torch.cat(
            [self.decode(conv(f), i) for i, (conv, f) in enumerate(zip(self.convs, features, strict=False))], dim=1
        )


head = Head(8, [[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
heads = [copy.deepcopy(head).to(f"cuda:{i}") for i in range(torch.cuda.device_count())]
for i, h in enumerate(heads):
    features = [torch.rand(1, 8, s, s, device=f"cuda:{i}") for s in (4, 2)]
    print(h(features).shape)
