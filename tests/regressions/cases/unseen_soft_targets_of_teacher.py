# expect: DV104 | gpus: 2 | operands: soft_targets, log_probs | owner: program
"""The targets of a loss are a teacher's, on the GPU where the program has put the teacher."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn import functional as F

accelerator = Accelerator()
teacher = nn.Linear(8, 4).to("cuda:1")
student = nn.Linear(8, 4)
student, optimizer = accelerator.prepare(student, torch.optim.SGD(student.parameters(), lr=0.1))


def distillation_loss(student_logits, teacher_logits):
    log_probs = F.log_softmax(student_logits, dim=-1)
    soft_targets = F.softmax(teacher_logits, dim=-1)
    return F.kl_div(log_probs, soft_targets, reduction="batchmean")


x = torch.randn(3, 8)
with torch.no_grad():
    wanted = teacher(x.to("cuda:1"))
distillation_loss(student(x.to(accelerator.device)), wanted).backward()
