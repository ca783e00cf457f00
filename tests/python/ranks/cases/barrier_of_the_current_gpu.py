# expect: DV302 | gpus: 2 | ranks: 1 of 2 | owner: torch.distributed | fix: torch.cuda.set_device | severity: warning
"""Each rank names its GPU and none is set: a barrier takes the current one, GPU 0 in every rank."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
model = torch.nn.Linear(4, 4).to(f"cuda:{rank}")
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
model(torch.randn(4, 4, device=f"cuda:{rank}")).sum().backward()
dist.barrier()
dist.destroy_process_group()
