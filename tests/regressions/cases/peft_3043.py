# expect: DV109 | gpus: 2 | operands: self.base_layer.weight, (self.tied or self).delta | owner: program
"""peft 3043: a trainable delta is tied between the embedding and the head, which are on two GPUs."""

import torch


class TrainableTokens(torch.nn.Module):
    def __init__(self, base, tied=None):
        super().__init__()
        self.base_layer = base
        self.tied = tied
        if tied is None:
            self.delta = torch.nn.Parameter(torch.zeros_like(base.weight))

    def merged(self):
        return self.base_layer.weight + (self.tied or self).delta


class Embedding(TrainableTokens):
    def forward(self, ids):
        return torch.nn.functional.embedding(ids, self.merged())


class Head(TrainableTokens):
    def forward(self, x):
        return torch.nn.functional.linear(x, self.merged())


embed = Embedding(torch.nn.Embedding(8, 4).to("cuda:0"))
head = Head(torch.nn.Linear(4, 8, bias=False).to("cuda:1"), tied=embed)
x = embed(torch.tensor([[1, 2]], device="cuda:0"))
head(x.to("cuda:1"))
