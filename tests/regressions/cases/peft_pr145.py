# expect: DV109 | gpus: 2 | operands: x, self.lora_A | owner: program
"""An adapter is created after the model was dispatched, where nobody looks."""

import torch


class LoraLinear(torch.nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base_layer = base
        self.lora_A = torch.nn.Parameter(torch.zeros(2, 4))
        self.lora_B = torch.nn.Parameter(torch.zeros(4, 2))

    def forward(self, x):
        result = self.base_layer(x)
        return result + x @ self.lora_A.T @ self.lora_B.T


model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)).to("cuda:1")
model[1] = LoraLinear(model[1])
model(torch.randn(2, 4, device="cuda:1"))
