# expect: DV108 | gpus: 2 | operands: bag.starts, bag.ids | owner: program
"""A container's own `to` moves the ids of its bags and passes their offsets by."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Bag:
    ids: torch.Tensor
    starts: torch.Tensor

    def to(self, device):
        return Bag(self.ids.to(device), self.starts)


table = nn.EmbeddingBag(9, 4).to("cuda:1")
bag = Bag(torch.arange(6, device="cuda:0"), torch.arange(0, 6, 2, device="cuda:0")).to("cuda:1")
table(bag.ids, bag.starts)
