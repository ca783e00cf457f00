# expect: DV301 | gpus: 2 | ranks: 0,1 of 2 | owner: program | fix: set `device` to this rank's GPU
"""The number of the GPU is written out, so that the current device does not matter."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
device = torch.device("cuda", 0)
total = torch.ones(4).to(device)
dist.all_reduce(total)
print(os.environ["RANK"], total)
