# expect: DV113 | gpus: 2 | operands: self.bias(scores.shape[-1], scores.device), scores | owner: program
"""ALiBi biases are cached by length in a module that encoder and decoder share."""

import torch
from torch import nn


class Alibi(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.register_buffer("slopes", 2.0 ** -torch.arange(1, heads + 1).float(), persistent=False)
        self._bias = {}

    def bias(self, n, device):
        if n not in self._bias:
            distance = torch.arange(n, device=device)[None, :] - torch.arange(n, device=device)[:, None]
            self._bias[n] = self.slopes.to(device)[:, None, None] * distance.abs().neg()
        return self._bias[n]

    def forward(self, scores):
        return scores + self.bias(scores.shape[-1], scores.device)


class Layer(nn.Module):
    def __init__(self, dim, heads, alibi):
        super().__init__()
        self.heads, self.qk, self.v, self.alibi = heads, nn.Linear(dim, 2 * dim), nn.Linear(dim, dim), alibi

    def forward(self, x):
        b, n, d = x.shape
        q, k = self.qk(x).view(b, n, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = self.alibi(q @ k.mT / (d // self.heads) ** 0.5)
        values = self.v(x).view(b, n, self.heads, -1).transpose(1, 2)
        return x + (scores.softmax(-1) @ values).transpose(1, 2).reshape(b, n, d)


alibi = Alibi(2)
first, second = Layer(8, 2, alibi).to("cuda:0"), Layer(8, 2, alibi).to("cuda:1")
x = torch.randn(1, 6, 8, device="cuda:0")
print(second(first(x).to("cuda:1")).shape)
