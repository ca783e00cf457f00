# expect: DV201 | gpus: 2 | operands: 1.bias, 1.weight | owner: program
"""A module of a dispatched model is moved; its hook still brings the inputs to the old place."""

import torch
from accelerate import dispatch_model

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
model = dispatch_model(model, {"0": 0, "1": 1})
model[1].to("cuda:0")
model(torch.randn(2, 4))
