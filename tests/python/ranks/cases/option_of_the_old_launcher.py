# expect: DV301 | gpus: 2 | ranks: 0,1 of 2 | owner: program | fix: give --local_rank the launcher's number
"""A script for torch.distributed.launch, which passed --local_rank, under torchrun: the option keeps its default."""

import argparse
import os

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
dist.init_process_group("nccl")
device = torch.device("cuda", args.local_rank)
total = torch.ones(4).to(device)
dist.all_reduce(total)
print(os.environ["RANK"], total)
