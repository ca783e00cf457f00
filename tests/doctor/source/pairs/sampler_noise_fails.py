# expect: DV111 | gpus: 2
"""A diffusion sampler: the noise comes from a generator with a seed."""

import torch
from torch import nn


class Sampler:
    def __init__(self, net, device, seed=0):
        self.net = net.to(device)
        self.device = torch.device(device)
        self.generator = torch.Generator().manual_seed(seed)

    @torch.no_grad()
    def sample(self, n, steps=3):
        x = torch.randn(n, 4, generator=self.generator, device=self.device)
        for _ in range(steps):
            x = x - 0.1 * self.net(x)
        return x


sampler = Sampler(nn.Linear(4, 4), "cuda:0")
print(sampler.sample(2).shape)
