# expect: DV112 | gpus: 1 | operands: t | owner: -
"""A model of shapes only is moved."""

import torch

with torch.device("meta"):
    model = torch.nn.Linear(4, 4)
model.to("cuda")
