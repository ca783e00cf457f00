# expect: DV112 | gpus: 1 | operands: self.center | owner: -
"""A skeleton on the meta device is called with parameters and without its buffers."""

import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state


class Centered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("center", torch.randn(3))
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x - self.center)


models = [Centered().cuda() for _ in range(2)]
parameters, _ = stack_module_state(models)
skeleton = copy.deepcopy(models[0]).to("meta")
first = {name: value[0] for name, value in parameters.items()}
functional_call(skeleton, first, (torch.randn(2, 3, device="cuda"),))
