# expect: DV101 | gpus: 2 | operands: state | owner: program
"""The states of all layers are set back to zeros like those of the first."""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, devices):
        super().__init__()
        self.devices = devices
        self.cells = nn.ModuleList(nn.GRU(6, 6).to(device) for device in devices)
        self.kept = [torch.zeros(1, 3, 6, device=device) for device in devices]

    def forget(self):
        first = self.kept[0]
        self.kept = [torch.zeros_like(first) for _ in self.cells]

    def forward(self, x):
        states = []
        for cell, device, state in zip(self.cells, self.devices, self.kept, strict=True):
            x, state = cell(x.to(device), state)
            states.append(state.detach())
        self.kept = states
        return x


tower = Tower(["cuda:0", "cuda:1"])
for part in range(2):
    if part > 0:
        tower.forget()
    for _ in range(2):
        tower(torch.randn(2, 3, 6))
