# expect: DV113 | gpus: 1 | operands: x, self.cached_freqs | owner: program
"""A table that an earlier call kept, used after the model has moved."""

import torch


class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.cached_freqs = None

    def forward(self, x):
        x = self.lin(x)
        if self.cached_freqs is None:
            self.cached_freqs = torch.arange(4.0)
        return x * self.cached_freqs


model = Rotary()
model(torch.randn(2, 4))
model.cuda()
model(torch.randn(2, 4).cuda())
