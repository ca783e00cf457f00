# expect: DV101 | gpus: 2 | operands: self.drop(features) | owner: program
"""A head on the last GPU, behind a backbone whose hook brings its result back to the first."""

import torch
from accelerate import dispatch_model
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
        self.backbone = dispatch_model(layers, {"0": 0, "1": 0, "2": 1})
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(8, 3).to(self.backbone[2].weight.device)

    def forward(self, x):
        features = self.backbone(x)
        return self.head(self.drop(features))


def main():
    tagger = Tagger()
    print(tagger(torch.rand(2, 4, device="cuda:0")).shape)


main()
