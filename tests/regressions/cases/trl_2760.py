# expect: DV109 | gpus: 2 | operands: A, quant_state.absmax | owner: program
"""trl 2760: a quantized weight and its state are on two GPUs."""

import torch


class QuantState:
    def __init__(self, absmax):
        self.absmax = absmax


class Linear4bit(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randint(0, 15, (width, width), dtype=torch.uint8), requires_grad=False)
        self.quant_state = QuantState(torch.ones(width, 1, device="cuda:0"))

    def forward(self, x):
        return x @ dequantize_4bit(self.weight, self.quant_state).T


def dequantize_4bit(A, quant_state):
    return A * quant_state.absmax


layer = Linear4bit(4).to("cuda:1")
layer(torch.randn(2, 4, device="cuda:1"))
