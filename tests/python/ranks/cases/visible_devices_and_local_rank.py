# expect: DV115 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: not | waits: 0 | environment: CUDA_VISIBLE_DEVICES={rank}
"""Each rank is shown its own GPU, which is cuda:0 there, and counts by LOCAL_RANK all the same."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("cpu:gloo,cuda:gloo")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
total = torch.ones(4, device="cuda")
dist.all_reduce(total)
