# expect: DV114 | gpus: 2 | operands: self.vision.bias, x, self.vision.weight | owner: program
"""The hooked forward is not the entry: another method is called, and no hook brings the weights."""

import torch
from accelerate import cpu_offload_with_hook


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vision = torch.nn.Linear(4, 4)

    def encode(self, x):
        return self.vision(x)

    def forward(self, x):
        return self.encode(x)


model, hook = cpu_offload_with_hook(Model(), execution_device=torch.device("cuda:0"))
model.encode(torch.randn(2, 4, device="cuda:0"))
