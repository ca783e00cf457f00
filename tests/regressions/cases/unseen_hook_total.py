# expect: DV104 | gpus: 2 | operands: output.abs().mean(), self.value | owner: -
"""A penalty adds up what forward hooks see of modules on two GPUs in one number that begins as a Python number."""

import torch
from torch import nn


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU()).to("cuda:0")
        self.head = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)).to("cuda:1")

    def forward(self, x):
        return self.head(self.encoder(x.to("cuda:0")).to("cuda:1"))


class Penalty:
    def __init__(self, model, weight):
        self.weight, self.value = weight, 0.0
        for module in model.modules():
            if isinstance(module, nn.ReLU):
                module.register_forward_hook(self.hook)

    def hook(self, module, given, output):
        self.value = self.value + output.abs().mean()

    def pop(self):
        value, self.value = self.value, 0.0
        return self.weight * value


torch.manual_seed(0)
model = Split()
penalty = Penalty(model, 0.1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    labels = torch.randint(3, (4,), device="cuda:1")
    loss = nn.functional.cross_entropy(model(torch.rand(4, 8)), labels) + penalty.pop().to("cuda:1")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
