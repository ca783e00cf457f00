# expect: DV102 | gpus: 2 | operands: self.pos.weight, positions | owner: program
"""mistral-inference 267: positions are made on the host inside of forward."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = torch.nn.Embedding(8, 4)
        self.pos = torch.nn.Embedding(8, 4)

    def forward(self, ids):
        positions = torch.arange(ids.shape[-1])
        return self.tok(ids) + self.pos(positions)


Model().to("cuda:1")(torch.tensor([[1, 2]], device="cuda:1"))
