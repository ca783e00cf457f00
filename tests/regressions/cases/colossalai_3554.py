# expect: DV109 | gpus: 2 | operands: self.dropout(x), self.lora_A | owner: program
"""ColossalAI 3554: LoRA matrices are added after the model was placed."""

import torch
import torch.nn.functional as F
from torch import nn


class LoraLinear(nn.Module):
    def __init__(self, weight, bias, r):
        super().__init__()
        self.weight, self.bias = weight, bias
        self.lora_A = nn.Parameter(weight.new_zeros((r, weight.shape[1]), device="cpu"))
        self.lora_B = nn.Parameter(torch.zeros(weight.shape[0], r))
        self.dropout = nn.Identity()

    def forward(self, x):
        result = F.linear(x, self.weight, bias=self.bias)
        return result + (self.dropout(x) @ self.lora_A.t() @ self.lora_B.t())


def convert_to_lora_recursively(module, r):
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, LoraLinear(child.weight, child.bias, r))
        else:
            convert_to_lora_recursively(child, r)


model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2))).to("cuda:1")
convert_to_lora_recursively(model, 2)
model(torch.randn(2, 4, device="cuda:1"))
