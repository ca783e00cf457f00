# expect: DV111 | gpus: 1 | operands: table, steps | owner: torch.set_default_device
"""The default device changes where a library's factories work."""

import torch

table = torch.arange(4.0)
torch.set_default_device("cuda")


def sample():
    steps = torch.ones(4)
    return table * steps


sample()
