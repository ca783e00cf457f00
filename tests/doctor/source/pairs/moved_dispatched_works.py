# expect: clean | gpus: 2
"""A dispatched model is brought to one device by a helper."""

import torch
from accelerate import dispatch_model
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def prepare(model, device):
    return model.eval()


model = dispatch_model(Net(), {"a": 0, "b": 1})
model = prepare(model, "cuda:0")
print(model(torch.randn(2, 4)).shape)
