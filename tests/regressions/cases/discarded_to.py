# expect: DV103 | gpus: 1 | operands: model.bias, inputs, model.weight | owner: program
"""Tensor.to returns a copy, and the copy is thrown away."""

import torch

model = torch.nn.Linear(4, 2).to("cuda:0")
inputs = torch.randn(3, 4)
inputs.to("cuda:0")
model(inputs)
