# expect: clean | gpus: 2
"""A training class sets up its rank; the model goes to the GPU in the same method."""

import os

import torch
import torch.distributed as dist
from torch import nn


class Trainer:
    def __init__(self):
        self.rank = int(os.environ["LOCAL_RANK"])
        dist.init_process_group(backend="nccl")
        torch.cuda.set_device(self.rank)
        self.build()

    def build(self):
        self.model = nn.Linear(8, 8).cuda()


trainer = Trainer()
