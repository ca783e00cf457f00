# expect: DV102 | gpus: 2 | operands: x, mask | owner: program
"""A literal "cuda" inside a kernel's wrapper, with tensors of the second GPU."""

import torch


def rotate(x):
    mask = torch.ones(x.shape[-1], device="cuda")
    return x * mask


rotate(torch.randn(2, 4, device="cuda:1"))
