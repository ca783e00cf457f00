# expect: DV101 | gpus: 2 | operands: state | owner: program
"""The first state of a decoder is made like the model's first parameter, which the encoder has."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.devices = {"encoder": "cuda:0", "decoder": "cuda:1"}
        self.encoder = nn.Embedding(9, 6)
        self.decoder = nn.GRU(6, 5, batch_first=True)

    def split(self):
        for name, device in self.devices.items():
            getattr(self, name).to(device)
        return self

    def begin(self, rows):
        like = next(self.parameters())
        return like.new_zeros(1, rows, 5)

    def forward(self, ids, state):
        read = self.encoder(ids.to(self.devices["encoder"]))
        return self.decoder(read.to(self.devices["decoder"]), state)


model = Reader().split()
model(torch.randint(0, 9, (3, 4)), model.begin(3))
