# expect: DV115 | gpus: 2 | operands: x | owner: program
"""A kernel is launched on the current device with a tensor of another GPU."""

import torch


def launch(x):
    raise ValueError("Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)")


launch(torch.zeros(3, device="cuda:1"))
