# expect: DV113 | gpus: 2 | operands: self.mix(x), freqs | owner: program
"""functools remembers a rotary table by its size and forgets the device."""

import functools

import torch

state = {"device": None}


@functools.cache
def rope_table(length, width):
    return torch.arange(length, device=state["device"]).float()[:, None].expand(length, width)


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = torch.nn.Linear(width, width)

    def forward(self, x):
        state["device"] = x.device
        freqs = rope_table(x.shape[1], x.shape[2])
        return self.mix(x) * freqs


blocks = [Block(4).to("cuda:0"), Block(4).to("cuda:1")]
x = torch.randn(1, 3, 4, device="cuda:0")
for block in blocks:
    x = block(x.to(block.mix.weight.device))
