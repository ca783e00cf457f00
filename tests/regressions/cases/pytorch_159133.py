# expect: DV103 | gpus: 1 | operands: x | owner: program
"""pytorch 159133: an input of the host goes into a compiled model on the GPU."""

import torch

model = torch.nn.Linear(4, 4).to("cuda")
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)
