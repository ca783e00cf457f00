# expect: DV106 | gpus: 2 | operands: order, t | owner: program
"""Beam search reorders the keys and values of every layer by an index that lives with the scores."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, x, kv):
        q, k, v = self.qkv(x).chunk(3, -1)
        if kv:
            k, v = torch.cat([kv[0], k], 1), torch.cat([kv[1], v], 1)
        return x + (q @ k.mT).softmax(-1) @ v, [k, v]


class BeamSearch:
    def __init__(self, vocab=12, dim=8, gpus=("cuda:0", "cuda:1"), beams=3):
        self.beams, self.gpus = beams, gpus
        self.embed = nn.Embedding(vocab, dim).to(gpus[0])
        self.layers = [Layer(dim).to(g) for g in gpus]
        self.out = nn.Linear(dim, vocab).to(gpus[0])

    @staticmethod
    def reorder(cache, order):
        return [[t.index_select(0, order) for t in kv] for kv in cache]

    @torch.no_grad()
    def run(self, steps=3):
        tokens = torch.zeros(self.beams, 1, dtype=torch.long, device=self.gpus[0])
        scores = torch.zeros(self.beams, device=self.gpus[0])
        cache = [[] for _ in self.layers]
        for _ in range(steps):
            x = self.embed(tokens[:, -1:])
            for i, layer in enumerate(self.layers):
                x, cache[i] = layer(x.to(self.gpus[i]), cache[i])
            logp = self.out(x[:, -1].to(self.gpus[0])).log_softmax(-1)
            scores, flat = (scores[:, None] + logp).flatten().topk(self.beams)
            order, token = flat // logp.shape[1], flat % logp.shape[1]
            tokens = torch.cat([tokens[order], token[:, None]], 1)
            cache = self.reorder(cache, order)
        return tokens


print(BeamSearch().run())
