# expect: DV101 | gpus: 2 | operands: keys, query | owner: program
"""A summary is sent to the reader's `home` before the writer reads it: the property is that of the reader, too."""

import torch
from torch import nn


class Summarizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.reader = nn.GRU(6, 6, batch_first=True)
        self.writer = nn.Linear(6, 6)

    def spread(self):
        self.reader.cuda(0)
        self.writer.cuda(1)
        return self

    @property
    def home(self):
        return next(self.parameters()).device

    def read(self, steps):
        states, _ = self.reader(steps.to(self.reader.weight_ih_l0.device))
        return states

    def attend(self, query, memory):
        keys = memory.transpose(1, 2)
        return torch.bmm(query, keys).softmax(-1)

    def forward(self, steps, prompt):
        query = self.writer(prompt.to(self.writer.weight.device))
        memory = self.read(steps).to(self.home)
        return self.attend(query, memory.detach())


Summarizer().spread()(torch.randn(2, 5, 6), torch.randn(2, 3, 6))
