# expect: DV115 | gpus: 2 | operands: local_rank | owner: -
"""PICK 14: four processes are launched on two visible GPUs.

No owner is named: the subject is a number, not a tensor.
"""

import os

import torch

os.environ["LOCAL_RANK"] = "3"


def init_distributed(local_rank):
    torch.cuda.set_device(local_rank)


init_distributed(int(os.environ["LOCAL_RANK"]))
