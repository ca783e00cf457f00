# expect: DV108 | gpus: 4 | operands: boxes, self.anchors | owner: program
"""Three replicas fail side by side, and DataParallel raises the error of the first of them."""

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)
        self.anchors = torch.rand(6, 4).cuda()

    def forward(self, features):
        boxes = self.head(features).sigmoid()
        return boxes * self.anchors


model = nn.DataParallel(Detector().cuda())
print(model(torch.randn(8, 6, 8, device="cuda")).shape)
