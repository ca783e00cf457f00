# expect: DV103 | gpus: 1 | operands: image, self.conv1.weight, self.conv1.bias | owner: program
"""Convolution says dtype and device in one sentence."""

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 2, 1)

    def forward(self, image):
        return self.conv1(image)


net = Net().cuda()
net(torch.randn(1, 1, 4, 4))
