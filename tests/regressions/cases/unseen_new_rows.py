# expect: DV105 | gpus: 2 | operands: text.words.weight | owner: program
"""Rows are added to an embedding after its model was placed: the new table is made on the CPU."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.pictures = nn.Linear(4, 6).to("cuda:1")
        self.text = nn.ModuleDict({"words": nn.Embedding(words, 6), "mix": nn.Linear(6, 6)}).to("cuda:0")

    @property
    def words(self):
        return self.text["words"]

    def add_words(self, count):
        old = self.words
        new = nn.Embedding(old.num_embeddings + count, old.embedding_dim)
        with torch.no_grad():
            new.weight[: old.num_embeddings] = old.weight
        self.text["words"] = new

    def forward(self, pictures, ids):
        seen = self.pictures(pictures.to("cuda:1")).to("cuda:0")
        return self.text["mix"](self.words(ids.to("cuda:0")).mean(1) + seen)


reader = Reader(9)
reader.add_words(2)
reader(torch.randn(3, 4), torch.randint(0, 11, (3, 5)))
