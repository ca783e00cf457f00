# expect: DV303 | gpus: 3 | ranks: 2 of 3 | owner: - | fix: from what all ranks share | waits: ?
"""The number of classes is counted in each rank's own data: DDP refuses, in every rank."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
labels = torch.tensor([0, 1, 2, 3 if rank < 2 else 2])
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, int(labels.max()) + 1)).cuda()
net = DistributedDataParallel(net, device_ids=[rank])
