# expect: DV110 | gpus: 2 | operands: - | owner: -
"""Members of a population are on two GPUs; the best one's momentum is cloned into the optimizer of another."""

import torch
from torch import nn


def member(gpu):
    model = nn.Linear(4, 2).to(gpu)
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True)


def learn(model, optimizer):
    optimizer.zero_grad()
    model(torch.randn(3, 4, device=model.weight.device)).sum().backward()
    optimizer.step()


def inherit(best, worst):
    pairs = zip(worst.param_groups[0]["params"], best.param_groups[0]["params"], strict=True)
    for ours, theirs in pairs:
        worst.state[ours] = {key: value.clone() for key, value in best.state[theirs].items()}


population = [member("cuda:0"), member("cuda:1")]
for model, optimizer in population:
    learn(model, optimizer)
inherit(population[1][1], population[0][1])
learn(*population[0])
