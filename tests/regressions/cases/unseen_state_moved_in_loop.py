# expect: DV103 | gpus: 2 | operands: state[0] | owner: program
"""A loop moves each part of an encoder's state to the decoder and keeps none of the results."""

import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTM(4, 4).to("cuda:0")
        self.decoder = nn.LSTM(4, 4).to("cuda:1")

    def forward(self, x):
        out, state = self.encoder(x)
        for part in state:
            part.to("cuda:1")
        return self.decoder(out.to("cuda:1"), state)


Translator()(torch.randn(3, 2, 4, device="cuda:0"))
