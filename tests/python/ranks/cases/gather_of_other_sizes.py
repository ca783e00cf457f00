# expect: DV305 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: pad them
"""Each rank gathers as many predictions as it has made."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", timeout=timedelta(seconds=2))
mine = torch.rand(5 + 2 * rank, device="cuda")
everybodys = [torch.empty_like(mine) for _ in range(2)]
dist.all_gather(everybodys, mine)
print(torch.cat(everybodys).sum().item())
