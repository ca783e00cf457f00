# expect: DV103 | gpus: 2
"""A batch is a dataclass; its own `to` moves its fields."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader


@dataclass
class Batch:
    nodes: torch.Tensor
    edges: torch.Tensor
    target: torch.Tensor

    def to(self, device):
        return Batch(self.nodes.to(device), self.edges.to(device), self.target)


def collate(rows):
    nodes, edges, target = zip(*rows, strict=False)
    return Batch(torch.stack(nodes), torch.stack(edges), torch.stack(target))


class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.msg, self.out = nn.Linear(6, 6), nn.Linear(6, 1)

    def forward(self, batch):
        return self.out(torch.bmm(batch.edges, self.msg(batch.nodes)).mean(1))


rows = [(torch.randn(3, 6), torch.rand(3, 3), torch.randn(1)) for _ in range(4)]
model = GraphNet().to("cuda:0")
for batch in DataLoader(rows, batch_size=2, collate_fn=collate):
    batch = batch.to("cuda:0")
    loss = nn.functional.mse_loss(model(batch), batch.target)
    loss.backward()
