# expect: DV112 | gpus: 1 | operands: arg | owner: -
"""A module was left on the meta device.

No owner is named: nobody placed the parameter.
"""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4, device="meta")

    def forward(self, x):
        return self.second(self.first(x))


model = Model()
model.first.cuda()
model(torch.randn(2, 4, device="cuda"))
