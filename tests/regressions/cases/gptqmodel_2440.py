# expect: DV105 | gpus: 1 | operands: q, cos | owner: program
"""GPTQModel 2440: a quantizer moves layer by layer; the rotary module is left on the host."""

import torch


class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", torch.rand(4), persistent=False)

    def forward(self, length):
        freqs = torch.outer(torch.arange(length, device=self.inv_freq.device).float(), self.inv_freq)
        return freqs.cos(), freqs.sin()


class LinearAttention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(4, 4)

    def forward(self, x, position_embeddings):
        return self.proj(x)


class FullAttention(LinearAttention):
    def forward(self, x, position_embeddings):
        cos, sin = position_embeddings
        q = self.proj(x)
        return q * cos + q * sin


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rotary_emb = Rotary()
        self.layers = torch.nn.ModuleList([LinearAttention(), LinearAttention(), FullAttention()])


def quantize(model, hidden):
    position_embeddings = model.rotary_emb(hidden.shape[0])
    hidden = hidden.to("cuda:0")
    for layer in model.layers:
        layer.to("cuda:0")
        hidden = layer(hidden, position_embeddings)
        layer.to("cpu")


quantize(Model(), torch.randn(3, 4))
