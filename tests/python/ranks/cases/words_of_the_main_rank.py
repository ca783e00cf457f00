# expect: DV302 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: torch.cuda.set_device | severity: error
"""Each rank names its GPU and none is set: a list of words is sent by way of the current one, GPU 0 in every rank."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
model = torch.nn.Linear(4, 4).to(f"cuda:{rank}")
names = [f"run {os.getpid()}"]
dist.broadcast_object_list(names, src=0)
print(names, model(torch.randn(4, 4, device=f"cuda:{rank}")).sum())
dist.destroy_process_group()
