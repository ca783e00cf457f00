# expect: DV202 | gpus: 2 | operands: weight | owner: program
"""DataParallel wants its module on the first GPU."""

import torch

model = torch.nn.DataParallel(torch.nn.Linear(4, 4).to("cuda:1"))
model(torch.randn(4, 4, device="cuda:0"))
