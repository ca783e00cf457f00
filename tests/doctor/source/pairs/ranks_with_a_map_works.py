# expect: clean | gpus: 2
"""Fine-tuning under torchrun; the loader of the model has a map."""

import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM


@dataclass
class Settings:
    name: str = "gpt2"
    lr: float = 1e-5


def load(settings, rank):
    return AutoModelForCausalLM.from_pretrained(settings.name, device_map={"": rank})


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    settings = Settings()
    model = DistributedDataParallel(load(settings, rank))
    torch.optim.AdamW(model.parameters(), lr=settings.lr)


if __name__ == "__main__":
    main()
