# expect: DV105 | gpus: 2 | operands: self.proj(x), cos | owner: program | miss: one expression says both devices
"""compressed-tensors PR 884: a module without parameters gets no device of its own and falls back to plain "cuda"."""

import torch


class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", torch.ones(4), persistent=False)

    def forward(self, length):
        return self.inv_freq.expand(length, -1).cos()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rotary_emb = Rotary()
        self.proj = torch.nn.Linear(4, 4)

    def forward(self, x):
        cos = self.rotary_emb(x.shape[0])
        return self.proj(x) * cos


def device_of(module):
    first = next(module.parameters(), None)
    return None if first is None else first.device


def convert(model, where):
    for module in model.children():
        device = where if device_of(module) is not None else None
        module.to(device or "cuda")


model = Model()
convert(model, "cuda:1")
model(torch.randn(2, 4, device="cuda:1"))
