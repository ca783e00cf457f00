# expect: DV112 | gpus: 1 | operands: inner.weight | owner: -
"""to() of a module that was created on the meta device.

No owner is named: nobody placed the parameter.
"""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2, device="meta")


def load():
    model = Model()
    return model.cuda()


load()
