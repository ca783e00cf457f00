# expect: DV102 | gpus: 1 | operands: total, row | owner: program
"""A sum starts from a fresh zero vector."""

import torch


def pool(values):
    total = torch.zeros(values.shape[1])
    for row in values:
        total = total + row
    return total


pool(torch.rand(3, 4, device="cuda"))
