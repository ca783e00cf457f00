# expect: DV103 | gpus: 2 | operands: self.scales | owner: program
"""An object's own `to` returns a new object, which is thrown away: the one that the model got stays on the CPU."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Schedule:
    scales: torch.Tensor
    shifts: torch.Tensor

    @classmethod
    def linear(cls, count):
        steps = torch.linspace(0, 1, count)
        return cls(1 - steps, torch.cumprod(steps + 0.5, 0))

    def to(self, device):
        return Schedule(self.scales.to(device), self.shifts.to(device))

    def noisy(self, x, step):
        return x * self.scales[step][:, None] + self.shifts[step][:, None]


class Denoiser(nn.Module):
    def __init__(self, schedule):
        super().__init__()
        self.layer = nn.Linear(3, 3).to("cuda:1")
        self.schedule = schedule

    def forward(self, x):
        x = x.to("cuda:1")
        step = torch.randint(0, 5, (len(x),), device=x.device)
        return self.layer(self.schedule.noisy(x, step))


schedule = Schedule.linear(5)
model = Denoiser(schedule)
schedule.to("cuda:1")
model(torch.randn(4, 3))
