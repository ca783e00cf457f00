# expect: DV114 | gpus: 1 | operands: self.axis | owner: -
"""A direction is made from the rows of a weight that is offloaded, and fails where it is used."""

import torch
from accelerate import dispatch_model
from torch import nn


class Probe:
    def __init__(self, head):
        rows = head.weight.detach()
        self.axis = rows[0] - rows[1]

    def read(self, hidden):
        return (hidden * self.axis).sum(-1)


model = nn.ModuleDict({"body": nn.Linear(4, 4), "head": nn.Linear(4, 3)})
dispatch_model(model, {"body": 0, "head": "cpu"}, main_device=0, offload_dir=None)
probe = Probe(model["head"])
probe.read(model["body"](torch.randn(2, 4, device="cuda:0")))
