# expect: DV105 | gpus: 2 | operands: self.scale, x | owner: program
"""load_state_dict with assign=True gives the actor on another GPU the learner's own tensors."""

import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(3))
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(x * self.scale)


class Actor:
    def __init__(self, device):
        self.device = torch.device(device)
        self.policy = Policy().to(self.device)

    def sync(self, weights):
        self.policy.load_state_dict(weights, assign=True)

    def act(self):
        return self.policy(torch.ones(2, 3, device=self.device))


learner = Policy().to("cuda:0")
actor = Actor("cuda:1")
actor.act()
actor.sync(learner.state_dict())
print(actor.act().sum())
