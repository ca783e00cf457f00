# expect: DV201 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: LOCAL_RANK
"""Qwen 920: each rank dispatches the model over all GPUs, then an engine moves the whole of it to the rank's."""

import os

import torch
import torch.distributed as dist
from accelerate import dispatch_model, infer_auto_device_map

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
net = torch.nn.Sequential(torch.nn.Embedding(16, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
device_map = infer_auto_device_map(net, max_memory={0: 600, 1: 10000})
net = dispatch_model(net, device_map={"0": 0, "1": 1, "2": 1})
net.to(f"cuda:{rank}")
net(torch.ones(2, 3, dtype=torch.long, device="cuda")).sum().backward()
dist.barrier()
