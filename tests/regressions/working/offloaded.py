"""One half of a model is kept on the host and comes for each call."""

import torch
from accelerate import cpu_offload, dispatch_model

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
model = dispatch_model(model, {"0": 0, "1": "cpu"}, main_device=0)
assert model(torch.randn(2, 4, device=0)).device == torch.device("cuda:0")
cpu_offload(torch.nn.Linear(4, 4), execution_device=torch.device("cuda:1"))(torch.randn(2, 4, device=1))
