# expect: DV111 | gpus: 1 | operands: rng | owner: program
"""A seeded CPU generator fills a tensor of the GPU."""

import torch


def sample(shape, seed, device):
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=rng, device=device)


sample((2, 3), 0, torch.device("cuda:0"))
