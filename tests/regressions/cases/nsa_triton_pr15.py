# expect: DV115 | gpus: 2 | operands: q, self.cos | owner: program
"""native sparse attention PR 15: a rotary buffer is made on "cuda", which is GPU 0 in every rank."""

import torch


class RopeConfig:
    def __init__(self, head_dim=4, device="cuda"):
        self.head_dim, self.device = head_dim, device


class RotaryEmbedding(torch.nn.Module):
    def __init__(self, config, device="cuda"):
        super().__init__()
        angles = torch.outer(torch.arange(8, device=device).float(), torch.ones(config.head_dim, device=device))
        self.cos = angles.cos()

    def forward(self, q):
        return q * self.cos[: q.shape[0]]


rank = 1
rope = RotaryEmbedding(RopeConfig())
q = torch.randn(3, 4, device=f"cuda:{rank}")
rope(q)
