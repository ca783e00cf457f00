# expect: DV110 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: optimizer
"""Lightning 6824: Adagrad makes its state when it is built, on the host; then each rank moves its model."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
net = torch.nn.Linear(8, 8)
optimizer = torch.optim.Adagrad(net.parameters())
net = DistributedDataParallel(net.cuda(), device_ids=[rank])
net(torch.ones(2, 8, device="cuda")).sum().backward()
optimizer.step()
