# expect: DV101 | gpus: 2 | operands: rows, lengths, hidden | owner: program
"""The last token of each sequence is taken with two indices, and both are where the batch is."""

import torch
from accelerate import dispatch_model
from torch import nn


class Reward(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.body, self.score = nn.Embedding(16, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, tokens, mask):
        hidden = self.body(self.embed(tokens))
        lengths = mask.sum(-1) - 1
        rows = torch.arange(tokens.size(0), device="cuda:0")
        return self.score(hidden[rows, lengths])


model = dispatch_model(Reward(), {"embed": 0, "body": 1, "score": 1})
tokens = torch.randint(16, (3, 5), device="cuda:0")
print(model(tokens, torch.ones_like(tokens)).shape)
