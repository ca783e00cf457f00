# expect: DV115 | gpus: 2 | operands: y, mask | owner: program
"""The model is placed by number, the rest goes wherever "cuda" is."""

import torch

model = torch.nn.Linear(4, 4).to("cuda:1")
mask = torch.zeros(4).cuda()


def run(x):
    y = model(x)
    return y * mask


run(torch.randn(2, 4, device="cuda:1"))
