# expect: DV103 | gpus: 1 | operands: preds | owner: program
"""A tensor of the GPU goes to NumPy."""

import torch

preds = torch.rand(3, device="cuda")
preds.numpy()
