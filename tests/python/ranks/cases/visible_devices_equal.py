# expect: DV301 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: its own | environment: CUDA_VISIBLE_DEVICES=1
"""Every rank is shown the same one GPU."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
total = torch.ones(4).cuda()
dist.all_reduce(total)
