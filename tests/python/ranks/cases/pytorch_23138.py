# expect: DV302 | gpus: 3 | ranks: 1,2 of 3 | owner: torch.load | fix: map_location | severity: warning
"""PyTorch 23138: the checkpoint was saved from GPU 0, and every rank loads it without map_location."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
net = torch.nn.Linear(64, 64).cuda()
if rank == 0:
    torch.save(net.state_dict(), "last.pt")
dist.barrier()
state = torch.load("last.pt")
net.load_state_dict(state)
net(torch.ones(2, 64, device="cuda")).sum().backward()
dist.all_reduce(net.weight.grad)
