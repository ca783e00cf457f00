# expect: DV102 | gpus: 1 | operands: x, self.init_hidden(x.shape[0]) | owner: program
"""The first hidden state of a GRU is made without a device."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 5, batch_first=True)

    def init_hidden(self, batch):
        return torch.zeros(1, batch, 5)

    def forward(self, x):
        out, _ = self.gru(x, self.init_hidden(x.shape[0]))
        return out


Tagger().to("cuda:0")(torch.randn(2, 3, 4, device="cuda:0"))
