# expect: DV102 | gpus: 1 | operands: self.relative_attention_bias.weight, buckets | owner: program
"""T5's relative positions are computed without a device."""

import torch
from torch import nn


class Bias(nn.Module):
    def __init__(self):
        super().__init__()
        self.relative_attention_bias = nn.Embedding(8, 2)

    def compute(self, query_length, key_length):
        context = torch.arange(query_length, dtype=torch.long)[:, None]
        memory = torch.arange(key_length, dtype=torch.long)[None, :]
        buckets = (memory - context).abs().clamp(max=7)
        return self.relative_attention_bias(buckets)

    def forward(self, scores):
        return scores + self.compute(scores.shape[-2], scores.shape[-1]).permute(2, 0, 1)


Bias().cuda()(torch.randn(2, 3, 3, device="cuda"))
