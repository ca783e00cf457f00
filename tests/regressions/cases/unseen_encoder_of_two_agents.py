# expect: DV101 | gpus: 2 | operands: x | owner: program
"""Two agents share an encoder on purpose; the model that loads weights with assign=True has nothing to do with it."""

import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self, encoder, device):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(4, 2).to(device)

    def forward(self, x):
        return self.head(self.encoder(x))


encoder = nn.Linear(3, 4).to("cuda:0")
actor, critic = Agent(encoder, "cuda:0"), Agent(encoder, "cuda:1")
target = nn.Linear(3, 4)
target.load_state_dict(encoder.state_dict(), assign=True)
x = torch.randn(2, 3).to("cuda:1")
print(critic(x).sum())
