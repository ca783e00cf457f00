# expect: DV112 | gpus: 2 | operands: self.table | owner: -
"""A model that is built on meta gets the tensors of a checkpoint; a buffer that is not persistent is not among them."""

import torch
from torch import nn


class Steps(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("table", torch.exp(-torch.arange(width, dtype=torch.float32)), persistent=False)
        self.out = nn.Linear(width, width)

    def forward(self, steps):
        return self.out(torch.sin(steps.float()[:, None] * self.table[None]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps, self.last = Steps(8), nn.Linear(8, 2)

    def forward(self, steps):
        return self.last(self.steps(steps).to("cuda:1"))


torch.manual_seed(0)
kept = Net().state_dict()
with torch.device("meta"):
    net = Net()
placed = {name: value.to("cuda:1" if name.startswith("last") else "cuda:0") for name, value in kept.items()}
net.load_state_dict(placed, strict=True, assign=True)
print(net(torch.arange(4, device="cuda:0")).sum().item())
