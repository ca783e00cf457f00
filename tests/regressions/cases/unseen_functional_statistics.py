# expect: DV112 | gpus: 1 | operands: - | owner: -
"""A skeleton on the meta device is called with stacked parameters and without the statistics of its normalization."""

import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.scale, self.high = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2)

    def forward(self, x):
        return self.high(self.scale(self.low(x)).relu())


members = [Net().eval().to("cuda") for _ in range(3)]
parameters, statistics = stack_module_state(members)
skeleton = copy.deepcopy(members[0]).to("meta")


def one(weights, x):
    return functional_call(skeleton, weights, (x,))


with torch.no_grad():
    print(vmap(one, in_dims=(0, None))(parameters, torch.randn(5, 4, device="cuda")).sum())
