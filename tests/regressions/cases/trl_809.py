# expect: DV101 | gpus: 2 | operands: rewards, kl | owner: program
"""trl 809: the values of one model and of the policy are brought together under one device value."""

import torch


class Trainer:
    def __init__(self):
        self.device = "cuda:0"
        self.policy = torch.nn.Linear(8, 8).to("cuda:0")
        self.blocks = torch.nn.Sequential(torch.nn.Linear(8, 8).to("cuda:0"), torch.nn.Linear(8, 1).to("cuda:1"))

    def step(self, x):
        hidden = self.blocks[0](x)
        kl = self.blocks[1](hidden.to("cuda:1"))
        rewards = torch.ones(x.shape[0], 1, device=self.device)
        return rewards - kl


Trainer().step(torch.randn(4, 8, device="cuda:0"))
