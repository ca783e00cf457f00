# expect: DV102 | gpus: 1 | operands: sample, 0.1 * noise | owner: program
"""The scheduler's noise is drawn on the host."""

import torch


def step(sample):
    noise = torch.randn(sample.shape)
    return sample + 0.1 * noise


step(torch.zeros(2, 3, device="cuda"))
