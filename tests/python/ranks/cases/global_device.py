# expect: DV302 | gpus: 2 | ranks: 1 of 2 | owner: program | fix: this rank's GPU | waits: 0
"""The script for one GPU had a global `device`; DDP moves the images to the rank's GPU, and nobody moves the labels."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
model = DistributedDataParallel(torch.nn.Linear(8, 4).to(rank), device_ids=[rank])
for images, labels in [(torch.randn(2, 8), torch.tensor([0, 3]))] * 2:
    images, labels = images.to(device), labels.to(device)
    torch.nn.functional.cross_entropy(model(images), labels).backward()
