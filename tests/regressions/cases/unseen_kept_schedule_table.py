# expect: DV103 | gpus: 1 | operands: alphas | owner: program
"""A scheduler replaces its table by a copy on the GPU; the program still has the one from before."""

import functools

import torch


def configured(init):
    @functools.wraps(init)
    def with_configuration(self, *args):
        self.configuration = args
        init(self, *args)

    return with_configuration


class Scheduler:
    @configured
    def __init__(self, steps):
        self.alphas = torch.linspace(0.9, 0.1, steps).cumprod(0)

    def add_noise(self, x, steps):
        self.alphas = self.alphas.to(x.device)
        return self.alphas[steps].view(-1, 1) * x


scheduler = Scheduler(20)
alphas = scheduler.alphas
x = torch.randn(4, 3, device="cuda:0")
steps = torch.randint(20, (4,), device="cuda:0")
noisy = scheduler.add_noise(x, steps)
weight = alphas[steps] ** 0.5
