# expect: DV306 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: sys.exit | waits: 0
"""Rank 1 finds nothing to do, and leaves."""

import os
import sys

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
files = ["a.bin", "b.bin"][rank::4]
if len(files) == 0 or files[0] == "b.bin":
    sys.exit(3)
total = torch.ones(4, device="cuda")
dist.all_reduce(total)
print(total.sum().item())
