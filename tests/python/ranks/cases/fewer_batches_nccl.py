# expect: DV304 | gpus: 3 | ranks: 2 of 3 | owner: - | fix: same number | waits: 0,1
"""The last rank's part of the data set is one batch shorter."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
total = torch.zeros(1, device="cuda")
for batch in list(range(8))[rank::3]:
    loss = torch.full((1,), float(batch), device="cuda")
    dist.all_reduce(loss)
    total += loss
    print(total.item())
