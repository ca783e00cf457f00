# expect: DV105 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: by hand
"""FullyShardedDataParallel is told to ignore a frozen encoder: it moves the others to the GPU, not that."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel


class Probe(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        return self.head(self.encoder(x))


rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
encoder = nn.Linear(8, 16).requires_grad_(False)
probe = FullyShardedDataParallel(Probe(encoder), device_id=rank, ignored_states=[encoder.weight, encoder.bias])
print(probe(torch.randn(3, 8, device=f"cuda:{rank}")).sum().item())
