# expect: DV302 | gpus: 2 | ranks: 1 of 2 | owner: program | fix: instead of "cuda:0"
"""A stage of a pipeline receives into a buffer that was put on GPU 0: NCCL finds two ranks there, and refuses both."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
stage = torch.nn.Linear(16, 16).cuda()
buffer = torch.empty(4, 16, device="cuda:0")
with torch.no_grad():
    if rank == 0:
        dist.send(stage(torch.ones(4, 16, device="cuda")), dst=1)
    else:
        dist.recv(buffer, src=0)
        print(stage(buffer).sum().item())
