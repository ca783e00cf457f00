# expect: DV114 | gpus: 1 | operands: x, self.pe | owner: program
"""AnimateDiff 372: a low-memory loader brings weight and bias of a module to the GPU for a call, and nothing else."""

import torch


class MotionModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(4, 4)
        self.pe = torch.nn.Parameter(torch.zeros(1, 4))

    def forward(self, x):
        return self.proj(x + self.pe)


def lowvram(model):
    def cast(module, inputs):
        module.weight.data, module.bias.data = module.weight.data.to("cuda:0"), module.bias.data.to("cuda:0")

    def back(module, inputs, output):
        module.weight.data, module.bias.data = module.weight.data.to("cpu"), module.bias.data.to("cpu")

    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(cast)
            module.register_forward_hook(back)


model = torch.nn.Sequential(torch.nn.Linear(4, 4), MotionModule())
lowvram(model)
model(torch.randn(2, 4, device="cuda:0"))
