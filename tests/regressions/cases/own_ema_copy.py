# expect: DV110 | gpus: 1 | operands: slow, fast | owner: program
"""A copy of the model for the average is made before the model moves to the GPU."""

import copy

import torch


@torch.no_grad()
def ema_update(target, source, tau):
    for slow, fast in zip(target.parameters(), source.parameters(), strict=True):
        slow.lerp_(fast, tau)


online = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
target = copy.deepcopy(online)
online.to("cuda:0")
ema_update(target, online, tau=0.01)
