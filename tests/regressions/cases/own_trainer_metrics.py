# expect: DV104 | gpus: 2 | operands: total, loss | owner: program
"""A running total is started on the first GPU, losses come from the last."""

import torch

head = torch.nn.Linear(4, 1).to("cuda:1")
total = torch.zeros((), device="cuda:0")
for _ in range(2):
    loss = head(torch.randn(3, 4, device="cuda:1")).pow(2).mean()
    total += loss.detach()
