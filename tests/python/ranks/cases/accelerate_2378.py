# expect: DV204 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: LOCAL_RANK | waits: 0
"""Accelerate 2378: a quantized model is loaded on the current device, GPU 0, in every rank; the batch is elsewhere."""

import os

import torch
import torch.distributed as dist
from accelerate import dispatch_model

net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 4))
net = dispatch_model(net, {"": torch.cuda.current_device()}, force_hooks=True)
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
logits = net[1](net[0](torch.ones(4, 8, device="cuda")))
loss = torch.nn.functional.cross_entropy(logits, torch.zeros(4, dtype=torch.long, device="cuda"))
dist.all_reduce(loss)
print(loss.item())
