# expect: DV202 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: DataParallel | waits: 0
"""FFB6D 4: a DataParallel is inside of the ranks' model, and insists on cuda:0."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = torch.nn.DataParallel(torch.nn.Linear(4, 4))

    def forward(self, image):
        return self.cnn(image)


rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
net = DistributedDataParallel(Net().cuda(rank), device_ids=[rank])
net(torch.ones(2, 4, device="cuda")).sum().backward()
dist.barrier()
