# expect: DV101 | gpus: 2 | operands: prompt, tokens | owner: accelerate
"""A prompt that was made of rows of the head, on the last GPU, is joined with the tokens of the first."""

import torch
from accelerate import dispatch_model
from torch import nn


class Prompt(nn.Module):
    def __init__(self, lm, rows):
        super().__init__()
        self.rows = nn.Parameter(lm.head.weight[rows].detach().clone())

    def joined(self, lm, ids):
        tokens = lm.embed(ids)
        prompt = self.rows.unsqueeze(0).expand(len(ids), -1, -1)
        return torch.cat([prompt, tokens], dim=1)


lm = nn.ModuleDict({"embed": nn.Embedding(9, 4), "head": nn.Linear(4, 9)})
dispatch_model(lm, {"embed": 0, "head": 1})
prompts = Prompt(lm, [3, 5])
prompts.joined(lm, torch.randint(0, 9, (2, 3), device="cuda:0"))
