# expect: DV103 | gpus: 1 | operands: self.anchors, features | owner: program
"""A loss with weights of its own is built beside the model, and only the model is prepared."""

import torch
from accelerate import Accelerator
from torch import nn


class Anchored(nn.Module):
    def __init__(self, classes, width):
        super().__init__()
        self.anchors = nn.Parameter(torch.randn(classes, width))

    def forward(self, features, labels):
        return nn.functional.cross_entropy(features @ self.anchors.t(), labels)


accelerator = Accelerator()
model, criterion = nn.Linear(6, 4), Anchored(3, 4)
optimizer = torch.optim.SGD([*model.parameters(), *criterion.parameters()], lr=0.1)
data = torch.utils.data.TensorDataset(torch.randn(8, 6), torch.randint(0, 3, (8,)))
model, optimizer, loader = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(data, batch_size=4))
for x, labels in loader:
    features = model(x)
    accelerator.backward(criterion(features, labels))
    optimizer.step()
