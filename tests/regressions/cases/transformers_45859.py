# expect: DV114 | gpus: 1 | operands: self.inv_freq, position_ids.float() | owner: program
"""transformers 45859: an offload keeps buffers on the host; the rotary module does not bring its table along."""

import torch


class CPUOffloadPolicy:
    """The shape of FSDP2's: parameters come for each forward, buffers stay."""

    def __init__(self, module):
        module.register_forward_pre_hook(self.unshard)

    def unshard(self, module, inputs):
        for parameter in module.parameters():
            parameter.data = parameter.data.to("cuda:0")


class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", torch.rand(2, 1), persistent=False)

    def forward(self, position_ids):
        return (self.inv_freq @ position_ids.float()).cos()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rotary = Rotary()
        self.proj = torch.nn.Linear(2, 2)

    def forward(self, x, position_ids):
        return self.proj(x) * self.rotary(position_ids)


model = Model()
CPUOffloadPolicy(model)
model(torch.randn(2, 2, device="cuda:0"), torch.tensor([[0, 1]], device="cuda:0"))
