# expect: DV101 | gpus: 2 | operands: chances, tokens | owner: program
"""A draft model gives its tokens back on the caller's GPU, and the chances that it drew them with on its own."""

import torch
from torch import nn


class Drafter:
    def __init__(self, model, device):
        self.model = model.to(device)
        self.device = device

    @torch.no_grad()
    def propose(self, x):
        caller = x.device
        chances = self.model(x.to(self.device)).softmax(-1)
        tokens = torch.multinomial(chances, 1)
        return tokens.to(caller), chances


def accepted(mine, chances, tokens):
    drawn = chances.gather(-1, tokens)
    return (mine.gather(-1, tokens) / drawn).clamp(max=1.0)


torch.manual_seed(0)
verifier = nn.Linear(4, 8).to("cuda:0")
drafter = Drafter(nn.Linear(4, 8), "cuda:1")
x = torch.randn(3, 4, device="cuda:0")
tokens, chances = drafter.propose(x)
print(accepted(verifier(x).softmax(-1), chances, tokens).mean().item())
