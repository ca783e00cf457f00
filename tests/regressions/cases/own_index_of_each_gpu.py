# expect: DV102 | gpus: 3 | operands: idx, t | owner: program
"""The same function runs on one GPU after the other; its index stays on the first."""

import torch


def chosen(gpu):
    t = torch.arange(4, device=f"cuda:{gpu}")
    idx = torch.tensor([0, 1], device="cuda:0")
    return t[idx].tolist()


for gpu in range(3):
    chosen(gpu)
