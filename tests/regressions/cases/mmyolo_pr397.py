# expect: DV102 | gpus: 1 | operands: pred, grid | owner: program
"""Priors from a helper function without a device."""

import torch


def priors(n):
    return torch.arange(n, dtype=torch.float32)


def decode(pred):
    grid = priors(pred.shape[0])
    return pred + grid


decode(torch.rand(4, device="cuda"))
