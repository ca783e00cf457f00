# expect: DV106 | gpus: 2 | operands: state, torch.sigmoid(self.decay) | owner: program
"""A recurrent language model generates: the states of all layers start on the first GPU, the layers are on two."""

import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(dim))
        self.inp, self.out = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x, state):
        u = self.inp(x)
        state = state * torch.sigmoid(self.decay) + u
        return x + self.out(state), state


class RecurrentLM(nn.Module):
    def __init__(self, vocab=24, dim=8, depth=4):
        super().__init__()
        self.dim = dim
        self.embed, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab)
        self.cells = nn.ModuleList(Cell(dim) for _ in range(depth))

    def spread(self, gpus):
        self.embed.to(gpus[0]), self.head.to(gpus[-1])
        for i, cell in enumerate(self.cells):
            cell.to(gpus[i * len(gpus) // len(self.cells)])
        return self

    def initial_state(self, batch, device):
        return [torch.zeros(batch, self.dim, device=device) for _ in self.cells]

    @torch.inference_mode()
    def generate(self, token, steps):
        recurrent_state = self.initial_state(token.shape[0], token.device)
        for _ in range(steps):
            x = self.embed(token)
            for i, cell in enumerate(self.cells):
                x, recurrent_state[i] = cell(x.to(cell.decay.device), recurrent_state[i])
            token = self.head(x).argmax(-1).to(token.device)
        return token


print(RecurrentLM().spread(["cuda:0", "cuda:1"]).generate(torch.zeros(2, dtype=torch.long, device="cuda:0"), 3))
