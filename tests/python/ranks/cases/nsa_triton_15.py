# expect: DV115 | gpus: 2 | ranks: 1 of 2 | owner: program | fix: set_device | waits: 0
"""native sparse attention PR 15: a rotary buffer is made on "cuda" in ranks that never called set_device."""

import os

import torch
import torch.distributed as dist


class RotaryEmbedding(torch.nn.Module):
    def __init__(self, head_dim=4, device="cuda"):
        super().__init__()
        self.cos = torch.outer(torch.arange(8, device=device).float(), torch.ones(head_dim, device=device)).cos()

    def forward(self, q):
        return q * self.cos[: q.shape[0]]


rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("cpu:gloo,cuda:gloo")
rope = RotaryEmbedding()
q = torch.randn(3, 4, device=f"cuda:{rank}")
out = rope(q)
dist.all_reduce(out)
