# expect: DV112 | gpus: 1 | operands: - | owner: -
"""PEFT makes an adapter's weights without data, for a checkpoint that nobody loads."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(8, 8)

    def forward(self, x):
        return self.query(x)


low_memory = True
model = get_peft_model(Model(), LoraConfig(r=2, target_modules=["query"]), low_cpu_mem_usage=low_memory)
model.to("cuda")
print(model(torch.ones(2, 8, device="cuda")).sum())
