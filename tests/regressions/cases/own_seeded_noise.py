# expect: DV111 | gpus: 2 | operands: generator | owner: program
"""A diffusion scheduler draws on the sample's device with a CPU generator, by keyword, deep in a helper."""

import torch


def randn_tensor(shape, *, generator=None, device=None, dtype=None):
    return torch.randn(shape, generator=generator, device=device, dtype=dtype)


class Scheduler:
    def __init__(self, seed):
        self.generator = torch.Generator("cpu").manual_seed(seed)

    def step(self, sample):
        return sample + randn_tensor(sample.shape, generator=self.generator, device=sample.device, dtype=sample.dtype)


Scheduler(0).step(torch.zeros(2, 3, device="cuda:1"))
