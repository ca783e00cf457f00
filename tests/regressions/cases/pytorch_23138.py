# expect: DV115 | gpus: 2 | operands: average, parameter | owner: torch.load
"""pytorch 23138: a checkpoint is loaded in rank 1 without map_location; its tensors come back to GPU 0."""

import io

import torch

model = torch.nn.Linear(4, 4).to("cuda:0")
file = io.BytesIO()
torch.save({"model": model.state_dict(), "average": [p.detach().clone() for p in model.parameters()]}, file)
file.seek(0)

local_rank = 1
torch.cuda.set_device(local_rank)
model = torch.nn.Linear(4, 4).cuda(local_rank)
checkpoint = torch.load(file)
model.load_state_dict(checkpoint["model"])
for average, parameter in zip(checkpoint["average"], model.parameters(), strict=True):
    average.lerp_(parameter.detach(), 0.1)
