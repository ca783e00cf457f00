# expect: DV111 | gpus: 1 | operands: generator | owner: program
"""A sampler's generator in a helper."""

import torch


def draw(shape, generator=None):
    return torch.rand(shape, device="cuda", generator=generator)


draw((2, 3), generator=torch.Generator("cpu"))
