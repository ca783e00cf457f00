# expect: DV114 | gpus: 1 | operands: - | owner: -
"""Weights are offloaded module by module; an attention of torch reads those of its last layer without a call."""

import torch
from accelerate import cpu_offload
from torch import nn


class Encoder(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.words = nn.Embedding(words, 8)
        self.mix = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, ids):
        x = self.words(ids)
        return self.mix(x, x, x, need_weights=False)[0].mean(1)


encoder = Encoder(11).eval()
cpu_offload(encoder, execution_device=torch.device("cuda:0"))
with torch.no_grad():
    print(encoder(torch.randint(0, 11, (3, 5), device="cuda:0")).sum().item())
