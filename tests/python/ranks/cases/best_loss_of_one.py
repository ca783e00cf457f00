# expect: DV305 | gpus: 2 | ranks: 0 of 2 | owner: - | fix: take it out of the branch
"""Rank 0 alone shares its best loss: the call that the other rank makes next has the same name."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = torch.nn.Linear(16, 4).cuda()
for step in range(3):
    loss = model(torch.randn(8, 16).cuda()).mean()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    if rank == 0 and step == 1:
        dist.all_reduce(loss.detach())
    model.zero_grad()
print(loss.item())
