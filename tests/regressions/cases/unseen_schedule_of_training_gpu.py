# expect: DV101 | gpus: 2 | operands: table, steps | owner: program
"""The tables of a noise schedule are on the GPU that trains, the samples of the average are drawn on another one."""

import torch


class Schedule:
    def __init__(self, device):
        self.alphas = torch.linspace(0.9, 0.1, 20, device=device)

    def extract(self, table, steps):
        return table[steps].view(-1, 1)

    def noisy(self, x, steps):
        return self.extract(self.alphas, steps) * x


def sample(schedule, device):
    x = torch.randn(4, 3, device=device)
    steps = torch.full((4,), 7, device=device)
    return schedule.noisy(x, steps)


print(sample(Schedule("cuda:0"), "cuda:1").shape)
