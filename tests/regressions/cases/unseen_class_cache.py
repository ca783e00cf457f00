# expect: DV113 | gpus: 2 | operands: anchors, deltas | owner: -
"""Anchors are kept by their class under a key without the device; a function that never calls the class uses them."""

import copy
from typing import ClassVar

import torch
from torch import nn


class Anchors:
    _kept: ClassVar[dict[tuple[int, ...], torch.Tensor]] = {}

    def __init__(self, stride):
        self.stride = stride

    def __call__(self, feature):
        key = (*feature.shape[-2:], self.stride)
        if key not in self._kept:
            height, width = feature.shape[-2:]
            rows = (torch.arange(height, device=feature.device) + 0.5) * self.stride
            columns = (torch.arange(width, device=feature.device) + 0.5) * self.stride
            centers = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), -1).reshape(-1, 2)
            self._kept[key] = torch.cat([centers, torch.full_like(centers, self.stride)], -1)
        return self._kept[key]


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Conv2d(3, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 4, 1)
        self.anchors = Anchors(8)

    def forward(self, images):
        feature = torch.relu(self.trunk(images))
        return self.head(feature).permute(0, 2, 3, 1).flatten(1, 2), self.anchors(feature)


def decode(deltas, anchors):
    return torch.cat([anchors[:, :2] + deltas[..., :2] * anchors[:, 2:], anchors[:, 2:] * deltas[..., 2:].exp()], -1)


def boxes(model, images):
    deltas, anchors = model(images)
    return decode(deltas, anchors)


torch.manual_seed(0)
student = Detector().to("cuda:0")
teacher = copy.deepcopy(student).to("cuda:1")
optimizer = torch.optim.SGD(student.parameters(), lr=1e-4)
for step in range(3):
    images = torch.rand(2, 3, 4, 4)
    loss = boxes(student, images.to("cuda:0")).mean()
    if step:
        with torch.no_grad():
            target = boxes(teacher, images.to("cuda:1"))
        loss = loss + (boxes(student, images.to("cuda:0")) - target.to("cuda:0")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
