# expect: DV301 | gpus: 2 | ranks: 0,1 of 2 | owner: program | fix: set_device
"""The commonest of all: torch.cuda.set_device is forgotten, and NCCL finds both ranks on GPU 0."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
total = torch.ones(4).cuda()
dist.all_reduce(total)
print(os.environ["RANK"], total)
