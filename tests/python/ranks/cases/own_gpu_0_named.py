# expect: DV302 | gpus: 2 | ranks: 1 of 2 | owner: program | fix: instead of 0 | waits: 0
"""One tensor is put on GPU 0 by its number; the rank by itself sees two tensors of its own on two GPUs."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
weights = torch.ones(8).cuda(0)
batch = torch.randn(4, 8, device="cuda")
loss = (batch * weights).mean()
dist.all_reduce(loss)
