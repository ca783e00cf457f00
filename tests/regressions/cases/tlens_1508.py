# expect: DV103 | gpus: 1 | operands: x, W | owner: program
"""TransformerLens 1508: a name is bound to the weight before the move."""

import torch

model = torch.nn.Linear(4, 4, bias=False)
W = model.weight.data.clone()
model = model.to("cuda")
x = torch.randn(2, 4, device="cuda")
x @ W
