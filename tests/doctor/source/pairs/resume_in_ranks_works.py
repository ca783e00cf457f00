# expect: clean | gpus: 2
"""Resuming in ranks: the checkpoint is read by each of them."""

import os

import torch
import torch.distributed as dist
from torch import nn


class Checkpointer:
    def __init__(self, path):
        self.path = path

    def load(self, model):
        state = torch.load(self.path, map_location=f"cuda:{local_rank}")
        model.load_state_dict(state["model"])
        return state["step"]


local_rank = int(os.environ.get("LOCAL_RANK", 0))
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
model = nn.Linear(4, 4).to(local_rank)
step = Checkpointer("last.pt").load(model)
