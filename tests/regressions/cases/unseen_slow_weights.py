# expect: DV110 | gpus: 1 | operands: slow, p | owner: program
"""An optimizer clones what its groups hold when it is made, which is before Fabric moves the model."""

import torch
from lightning.fabric import Fabric
from torch import nn


class Averaged(torch.optim.SGD):
    def __init__(self, parameters, lr):
        super().__init__(parameters, lr=lr)
        self.kept = [[p.detach().clone() for p in group["params"]] for group in self.param_groups]

    @torch.no_grad()
    def average(self):
        for group, kept in zip(self.param_groups, self.kept, strict=True):
            for p, slow in zip(group["params"], kept, strict=True):
                slow.lerp_(p, 0.5)
                p.copy_(slow)


def main():
    fabric = Fabric(accelerator="cuda", devices=1)
    fabric.launch()
    net = nn.Linear(3, 2)
    optimizer = Averaged(net.parameters(), lr=0.1)
    net, _ = fabric.setup(net, optimizer)
    net(torch.randn(4, 3, device=fabric.device)).sum().backward()
    optimizer.step()
    optimizer.average()


main()
