# expect: DV103 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: the rank's GPU
"""mistral-inference 252: the length of the prompt is broadcast as a CPU tensor, over NCCL."""

import os

import torch
import torch.distributed as dist

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
length = torch.tensor([7])
dist.broadcast(length, src=0)
