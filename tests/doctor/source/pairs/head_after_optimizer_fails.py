# expect: DV105 | gpus: 2
"""Transfer learning: the classifier is replaced when the backbone is on the GPU already."""

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(12, width), nn.ReLU())
        self.fc = nn.Linear(width, 100)

    def forward(self, x):
        return self.fc(self.stem(x))


def adapt(model, classes):
    model.fc = nn.Linear(model.fc.in_features, classes)
    return model


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = Backbone().to(device)
model = adapt(model, 3)
for _step in range(2):
    x, y = torch.randn(4, 12).to(device), torch.randint(0, 3, (4,)).to(device)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
