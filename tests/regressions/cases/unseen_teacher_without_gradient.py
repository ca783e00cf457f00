# expect: DV101 | gpus: 2 | operands: targets, scores | owner: program
"""A teacher's scores meet those of the student: they need no gradient, and come to the student's GPU."""

import torch
from torch import nn
from torch.nn import functional as F

teacher = nn.Linear(8, 4).to("cuda:0").requires_grad_(False)
student = nn.Linear(8, 4).to("cuda:1")
x = torch.randn(3, 8)
targets = teacher(x.to("cuda:0")).softmax(-1)
scores = student(x.to("cuda:1")).log_softmax(-1)
F.kl_div(scores, targets, reduction="batchmean").backward()
