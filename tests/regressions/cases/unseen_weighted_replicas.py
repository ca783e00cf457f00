# expect: DV108 | gpus: 2 | operands: self.weights | owner: program
"""A model computes its own loss in DataParallel's replicas, with weights of classes that it has not registered."""

import torch
from torch import nn
from torch.nn import functional as F


class Classifier(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.body = nn.Linear(6, 3)
        self.weights = weights

    def forward(self, x, y):
        return self.loss(self.body(x), y)

    def loss(self, scores, y):
        return F.cross_entropy(scores, y, weight=self.weights)


def main():
    counts = torch.tensor([10.0, 3.0, 1.0])
    net = nn.DataParallel(Classifier((counts.sum() / counts).to("cuda:0")).to("cuda:0"))
    loss = net(torch.rand(8, 6, device="cuda:0"), torch.randint(0, 3, (8,), device="cuda:0"))
    print(loss.mean())


main()
