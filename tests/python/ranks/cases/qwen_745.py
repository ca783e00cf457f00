# expect: DV203 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: no device_map
"""Qwen 745: accelerate refuses to prepare a model that a map spread over several GPUs, in each rank."""

import os

import torch
import torch.distributed as dist
from accelerate import Accelerator, dispatch_model

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("cpu:gloo,cuda:gloo")
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
net = dispatch_model(net, {"0": 0, "1": 1})
net = Accelerator().prepare(net)
