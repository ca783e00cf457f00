# expect: DV201 | gpus: 2 | operands: layer.bias, x, layer.weight | owner: program
"""cuda() on a part of a dispatched model."""

import torch
from accelerate import dispatch_model


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(8, 4)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return x


model = dispatch_model(Model(), {"embed": 0, "layers.0": 0, "layers.1": 1})
model.layers.cuda()
model(torch.tensor([1, 2]))
