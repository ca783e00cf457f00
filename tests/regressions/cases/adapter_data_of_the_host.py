# expect: DV105 | gpus: 1 | operands: lora_A.weight | owner: -
"""Adapters start from saved tensors, which take the place of what PEFT had put on the GPU beside the weights."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 8)

    def forward(self, x):
        return self.project(x)


model = get_peft_model(Net().cuda(), LoraConfig(r=2, target_modules=["project"]))
saved = {name: torch.randn(weight.shape) for name, weight in model.named_parameters() if "lora_" in name}
for name, weight in model.named_parameters():
    if name in saved:
        weight.data = saved[name]
print(model(torch.randn(4, 8, device="cuda")).shape)
