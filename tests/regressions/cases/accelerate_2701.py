# expect: DV114 | gpus: 1 | operands: self.embed.weight | owner: accelerate
"""A weight is used outside of the forward that brings it in."""

import torch
from accelerate import cpu_offload


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(8, 4)

    def forward(self, ids):
        x = self.embed(ids)
        return x + self.embed.weight[0]


model = Tied()
cpu_offload(model, execution_device=torch.device("cuda:0"))
model(torch.tensor([1, 2]))
