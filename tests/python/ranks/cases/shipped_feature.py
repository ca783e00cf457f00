# expect: DV115 | gpus: 2 | ranks: 1 of 2 | owner: torch.distributed | fix: - | waits: 0
"""vLLM's image input: a tensor of rank 0's GPU is handed to every worker, which finds it on cuda:0."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
features = [torch.ones(2, 8, device="cuda") if rank == 0 else None]
dist.broadcast_object_list(features, src=0, device=torch.device("cpu"))
net = torch.nn.Linear(8, 8).cuda()
out = net(features[0])
dist.all_reduce(out)
