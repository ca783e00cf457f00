# expect: DV301 | gpus: 2
"""The device stands in the settings, and every rank reads the same file."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CONFIG = {"device": "cuda:0", "width": 16}


def setup():
    dist.init_process_group("nccl")
    return torch.device(CONFIG["device"])


def main():
    device = setup()
    model = nn.Sequential(nn.Linear(CONFIG["width"], 8), nn.ReLU()).to(device)
    model = DistributedDataParallel(model)
    x = torch.randn(4, CONFIG["width"], device=device)
    model(x).sum().backward()


main()
