# expect: DV105 | gpus: 2 | operands: newline, features | owner: program
"""A parameter of the outer module stays where the whole was moved; the part beside it is moved on."""

import torch
from torch import nn


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.vision = nn.Sequential(nn.Linear(12, 8), nn.ReLU())
        self.projector = nn.Linear(8, 16)
        self.text = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 5))
        self.newline = nn.Parameter(torch.zeros(16))

    def pack(self, features, newline):
        newline = newline[None, None, :].expand(features.size(0), 1, -1)
        return torch.cat([features, newline], dim=1)

    def forward(self, patches):
        features = self.projector(self.vision(patches.to("cuda:0")).to("cuda:1"))
        return self.text(self.pack(features, self.newline))


def place(model, first, second):
    model.to(first)
    model.projector.to(second)
    model.text.to(second)
    return model


torch.manual_seed(0)
model = place(Captioner(), "cuda:0", "cuda:1")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.rand(2, 3, 12)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
