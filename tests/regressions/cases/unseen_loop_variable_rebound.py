# expect: DV103 | gpus: 2 | operands: batch.left, 0.weight | owner: DataLoader
"""A batch's own `to` gives the variable of its loop a new value, and the batch keeps the old ones."""

import torch
from torch import nn
from torch.utils.data import DataLoader


class Pair:
    def __init__(self, items):
        self.left, self.right = (torch.stack(each) for each in zip(*items, strict=True))

    def to(self, device):
        for tensor in (self.left, self.right):
            tensor = tensor.to(device)
        return self


net = nn.Sequential(nn.Linear(4, 2)).to("cuda:1")
for batch in DataLoader([(torch.ones(4), torch.ones(4))] * 4, batch_size=2, collate_fn=Pair):
    batch = batch.to("cuda:1")
    net(batch.left)
