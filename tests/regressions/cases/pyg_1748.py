# expect: DV103 | gpus: 1 | operands: x, n_id | owner: program
"""The index is on the GPU, the data is on the host: the right direction is to the host."""

import torch

x = torch.randn(5, 3)


def sample(n_id):
    return x[n_id]


sample(torch.tensor([0, 1]).cuda())
