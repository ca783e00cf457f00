# expect: DV105 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: by hand
"""fully_shard is told to ignore a table that stays whole on each rank; nobody else moves it to the GPU."""

import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 8)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))

    def forward(self, words):
        x = self.table(words)
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
tagger = Tagger()
shared = {"ignored_params": set(tagger.table.parameters())}
for layer in tagger.layers:
    fully_shard(layer)
fully_shard(tagger, **shared)
print(tagger(torch.arange(6, device=device)).sum().item())
