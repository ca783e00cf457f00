# expect: DV203 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: leave out the move
"""verl 5995: FSDP keeps the parameters on the host, and the worker brings its model to the GPU before it generates."""

import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("cpu:gloo,cuda:nccl")
actor = fully_shard(torch.nn.Linear(8, 8), offload_policy=CPUOffloadPolicy())
actor.to("cuda")
print(actor(torch.ones(2, 8, device="cuda")).sum().item())
