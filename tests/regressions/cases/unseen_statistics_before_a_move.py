# expect: DV113 | gpus: 2 | operands: running_mean | owner: program
"""The buffers for functional_call are collected once, and then the network moves on to another GPU."""

import torch
from torch import nn
from torch.func import functional_call


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.body(x))


class Perturbed:
    def __init__(self, net, scale):
        self.net, self.scale = net, scale
        self.fixed = dict(net.named_buffers())

    def __call__(self, x):
        noisy = {name: weight + self.scale * torch.randn_like(weight) for name, weight in self.net.named_parameters()}
        return functional_call(self.net, {**noisy, **self.fixed}, (x,))


def main():
    critic = Critic().to("cuda:0")
    search = Perturbed(critic, 0.01)
    print(search(torch.rand(8, 6, device="cuda:0")).mean())
    critic.to("cuda:1")
    print(search(torch.rand(8, 6, device="cuda:1")).mean())


main()
