# expect: DV101 | gpus: 2 | operands: x, stage.weight | owner: program
"""A loop calls stages that are on several GPUs, and nothing moves what goes from one to the next."""

import torch

torch.manual_seed(0)
stages = torch.nn.ModuleList([torch.nn.Linear(4, 4).to(f"cuda:{number}") for number in range(2)])
x = torch.ones(2, 4, device="cuda:0")
for stage in stages:
    x = stage(x)
x.sum().backward()
print([stage.weight.grad.sum().item() for stage in stages])
