# expect: DV101 | gpus: 2 | operands: scale | owner: program
"""An optimizer moves all weights by one length, which it gathers on the GPU of its first parameter."""

import torch
from torch import nn


class Ascent(torch.optim.Optimizer):
    def __init__(self, params, reach):
        super().__init__(params, {"reach": reach})

    def _length(self):
        shared = self.param_groups[0]["params"][0].device
        lengths = [p.grad.norm().to(shared) for group in self.param_groups for p in group["params"]]
        return torch.stack(lengths).norm()

    @torch.no_grad()
    def step(self):
        length = self._length()
        for group in self.param_groups:
            scale = group["reach"] / (length + 1e-9)
            for p in group["params"]:
                p.add_(p.grad * scale)


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(5, 5).to("cuda:0"), nn.Linear(5, 1).to("cuda:1")

    def forward(self, x):
        return self.other(self.one(x.to("cuda:0")).to("cuda:1"))


model = Halves()
optimizer = Ascent(model.parameters(), 0.1)
model(torch.randn(4, 5)).sum().backward()
optimizer.step()
