# expect: DV103 | gpus: 1 | operands: teacher.weight, batch | owner: program
"""Distillation: the student was moved, the teacher was forgotten."""

import torch
import torch.nn.functional as F

student = torch.nn.Linear(4, 3, bias=False).to("cuda")
teacher = torch.nn.Linear(4, 3, bias=False).eval()
batch = torch.randn(2, 4).to("cuda")
with torch.no_grad():
    soft = teacher(batch).softmax(-1)
loss = F.kl_div(student(batch).log_softmax(-1), soft, reduction="batchmean")
