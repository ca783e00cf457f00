# expect: DV108 | gpus: 2 | operands: index, scores | owner: program
"""What an encoder hands on moves itself to the decoder's GPU, but for the field that was added last."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Encoded:
    states: torch.Tensor
    lengths: torch.Tensor
    words: torch.Tensor

    def to(self, device):
        return Encoded(self.states.to(device), self.lengths.to(device), self.words)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)

    def forward(self, words):
        return Encoded(self.embed(words), (words > 0).sum(1), words)


class Copier(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.Linear(8, 1)

    def forward(self, encoded):
        weights = self.attend(encoded.states).squeeze(-1).softmax(-1)
        scores = torch.zeros(weights.shape[0], 20, device=weights.device)
        index = encoded.words[:, :]
        return scores.scatter_add(1, index, weights)


reader, copier = Reader().to("cuda:0"), Copier().to("cuda:1")
words = torch.randint(0, 20, (3, 5), device="cuda:0")
copier(reader(words).to("cuda:1")).sum().backward()
