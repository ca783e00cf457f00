# expect: DV115 | gpus: 2 | ranks: 2,3 of 4 | owner: - | fix: as many ranks as there are | waits: 0,1
"""PICK 14: four ranks on a machine where two GPUs are visible."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("cpu:gloo,cuda:gloo")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
total = torch.ones(4, device="cuda")
dist.all_reduce(total)
