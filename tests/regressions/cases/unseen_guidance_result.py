# expect: DV101 | gpus: 2 | operands: 0.1 * push(x), x | owner: program
"""A sampler on one GPU is guided by a classifier on another: what the guide gives stays where the classifier is."""

import torch
from torch import nn

classifier = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)).to("cuda:1")


def guide(network, device):
    def push(x):
        with torch.enable_grad():
            leaf = x.detach().to(device).requires_grad_(True)
            score = network(leaf).log_softmax(-1)[:, 1].sum()
            return torch.autograd.grad(score, leaf)[0]

    return push


def sample(push, steps):
    x = torch.randn(4, 6, device="cuda:0")
    for _ in range(steps):
        x = x + 0.1 * push(x)
    return x


print(sample(guide(classifier, "cuda:1"), 3).mean().item())
