# expect: DV103 | gpus: 1 | operands: model.weight, inputs | owner: program
"""The model was never moved, its input was."""

import torch

model = torch.nn.Embedding(10, 4)
inputs = torch.tensor([1, 2]).to("cuda:0")
model(inputs)
