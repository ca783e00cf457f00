# expect: DV103 | gpus: 1 | operands: logits, criterion.weight | owner: program
"""Weights of classes are counted on the host and given to a loss that is not moved."""

import torch
from torch import nn

labels = torch.tensor([0, 1, 1, 1])
counts = torch.bincount(labels, minlength=2).float()
criterion = nn.CrossEntropyLoss(weight=counts.sum() / counts)
model = nn.Linear(4, 2).to("cuda")
logits = model(torch.randn(4, 4, device="cuda"))
criterion(logits, labels.to("cuda"))
