# expect: DV105 | gpus: 2 | operands: self.scorer.weight, pooled | owner: torch.load
"""A head that stands beside a mapped backbone is given the tensors of a checkpoint, which are on the CPU."""

import os
import tempfile

import torch
from accelerate import dispatch_model
from torch import nn


class Backbone(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Ranker(nn.Module):
    def __init__(self, backbone, width):
        super().__init__()
        self.backbone = backbone
        self.scorer = nn.Linear(width, 1).to("cuda:1")

    def forward(self, x):
        pooled = self.backbone(x).tanh()
        return self.scorer(pooled)


def restore(ranker, path):
    weights = torch.load(path, map_location="cpu")
    ranker.scorer.load_state_dict({name: value.float() for name, value in weights.items()}, assign=True)


torch.manual_seed(3)
ranker = Ranker(dispatch_model(Backbone(8), {"first": 0, "second": 1}, force_hooks=True), 8)
ranker.backbone.second._hf_hook.io_same_device = False
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "scorer.pt")
    torch.save({name: value.half() for name, value in ranker.scorer.state_dict().items()}, path)
    restore(ranker, path)
for _ in range(2):
    hidden = ranker(torch.randn(4, 8, device="cuda:0"))
    hidden.sum().backward()
