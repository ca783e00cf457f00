# expect: DV101 | gpus: 2 | operands: ids, self.passages | owner: program
"""A plain object keeps the passages beside the reader; the index that finds them answers on its own GPU."""

import torch
from torch import nn


class Index:
    def __init__(self, device):
        self.device, self.parts = device, []

    def add(self, vectors):
        self.parts.append(vectors.to(self.device))

    def search(self, queries, count):
        scores = queries.to(self.device) @ torch.cat(self.parts).T
        return torch.topk(scores, count, dim=1)


class Pipeline:
    def __init__(self, encoder, passages):
        self.encoder = encoder
        self.passages = passages.to("cuda:0")
        self.index = Index("cuda:1")
        with torch.no_grad():
            self.index.add(self.encoder(self.passages).mean(1))

    def context_of(self, question):
        with torch.no_grad():
            _, ids = self.index.search(self.encoder(question).mean(1), 3)
        return self.passages[ids].flatten(1)


torch.manual_seed(0)
pipeline = Pipeline(nn.Embedding(20, 8).to("cuda:0"), torch.randint(0, 20, (30, 6)))
print(pipeline.context_of(torch.randint(0, 20, (4, 6), device="cuda:0")).shape)
