# expect: DV108 | gpus: 1 | operands: mean, img | owner: program
"""Images are normalized by a function whose default argument holds the mean."""

import torch
from torch import nn


def normalize(img, mean=torch.tensor([0.4, 0.5, 0.6]).view(3, 1, 1)):  # noqa: B008 (this is the mistake)
    return img - mean


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, img):
        return self.conv(normalize(img)).mean()


net = Net().cuda()
print(net(torch.rand(2, 3, 8, 8).cuda()))
