# expect: DV204 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: LOCAL_RANK | severity: warning
"""Each rank spreads its model over both GPUs. Nothing fails; half of the memory is gone."""

import os

import torch
import torch.distributed as dist
from accelerate import dispatch_model

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
net = dispatch_model(net, {"0": 0, "1": 1})
net(torch.ones(2, 8, device="cuda")).sum().backward()
dist.barrier()
