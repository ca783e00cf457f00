# expect: DV115 | gpus: 2 | ranks: 1 of 2 | owner: program | fix: set_device | waits: 0
"""Two networks of one size; the noise of one goes to the current GPU, which no rank has set."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl", timeout=timedelta(seconds=5))
device = torch.device("cuda", rank)


class Maker(nn.Module):
    def __init__(self):
        super().__init__()
        self.noise = nn.Linear(4, 8)

    def forward(self, z):
        return self.noise(z)


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(8, 1)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.score(x) + self.bias


maker = DistributedDataParallel(Maker().to(device), device_ids=[rank])
judge = DistributedDataParallel(Judge().to(device), device_ids=[rank])
for _ in range(2):
    with torch.no_grad():
        fake = maker.module(torch.randn(3, 4, device="cuda"))
    judge(fake).sum().backward()
    judge(maker(torch.randn(3, 4, device="cuda"))).sum().backward()
