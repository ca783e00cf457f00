# expect: DV109 | gpus: 2 | operands: dropout(x), lora_A.weight | owner: peft
"""PEFT's adapter was made after a layer had been moved."""

import torch
from peft import LoraConfig, get_peft_model


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = torch.nn.Linear(4, 4)
        self.v_proj = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.v_proj(self.q_proj(x).to(self.v_proj.weight.device))


model = get_peft_model(Model(), LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
model.base_model.model.v_proj.base_layer.to("cuda:1")
model.base_model.model.q_proj.to("cuda:0")
model(torch.randn(2, 4, device="cuda:0"))
