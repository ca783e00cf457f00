# expect: DV104 | gpus: 2 | operands: here, wanted | owner: program
"""Hidden states that hooks took on two GPUs meet a teacher's, which are weighed on the first one."""

import torch
import torch.nn.functional as F
from accelerate import dispatch_model
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
model = dispatch_model(model, device_map={"0": 0, "1": 1, "2": 1})
taken = []
for layer in model:
    layer.register_forward_hook(lambda module, given, out: taken.append(out))

teacher = [torch.randn(2, 4, device="cuda:0") for _ in range(3)]
scales = torch.tensor([0.2, 0.3, 0.5], device="cuda:0")
model(torch.randn(2, 4, device="cuda:0"))
total = torch.zeros((), device="cuda:0")
for scale, here, wanted in zip(scales, taken, teacher, strict=True):
    total = total + scale * F.mse_loss(here, wanted)
total.backward()
