# expect: DV302 | gpus: 2 | ranks: 1 of 2 | owner: torch.load | fix: map_location | severity: warning
"""The checkpoint is loaded with a map_location, which names GPU 0."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
net = torch.nn.Linear(64, 64).cuda()
if rank == 0:
    torch.save({"model": net.state_dict(), "step": 7}, "step7.pt")
dist.barrier()
checkpoint = torch.load("step7.pt", map_location="cuda:0")
net.load_state_dict(checkpoint["model"])
dist.barrier()
