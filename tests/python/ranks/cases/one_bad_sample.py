# expect: DV306 | gpus: 3 | ranks: 1 of 3 | owner: - | fix: fix this exception | waits: 0,2
"""One rank's data is broken: an exception of the program's own, and the others wait."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
for step in range(3):
    loss = torch.ones(4, device="cuda")
    if rank == 1 and step == 1:
        raise ValueError(f"sample {step} has no label")
    dist.all_reduce(loss)
