# expect: DV301 | gpus: 2 | ranks: 0,1 of 2 | owner: program | fix: set_device | environment: WORLD_SIZE=
"""As torch.multiprocessing.spawn starts ranks: their numbers are arguments; and nobody sets the device."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ.pop("LOCAL_RANK"))
os.environ.pop("RANK")
dist.init_process_group("nccl", rank=rank, world_size=2)
net = torch.nn.Linear(8, 8).to("cuda")
dist.broadcast(net.weight.data, src=0)
print(net.weight.sum().item())
