# expect: DV112 | gpus: 1 | operands: - | owner: -
"""A second adapter is added without memory, as if a checkpoint were to follow, and trained."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(8, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(torch.relu(self.query(x)))


model = get_peft_model(Model().to("cuda:0"), LoraConfig(r=2, target_modules=["query"]), adapter_name="first")
model.add_adapter("second", LoraConfig(r=2, target_modules=["query"]), low_cpu_mem_usage=True)
model.set_adapter("second")
model(torch.randn(4, 8, device="cuda:0")).sum().backward()
