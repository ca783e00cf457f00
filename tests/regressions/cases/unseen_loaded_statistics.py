# expect: DV108 | gpus: 2 | operands: x, self.mean | owner: torch.load
"""Statistics come from a checkpoint that is read to the GPU of an earlier job; the scorer goes to another one."""

import io

import torch
from torch import nn

FIT_ON = "cuda:0"


class Scorer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, 1)
        self.mean = torch.zeros(dim)

    def restore(self, saved):
        self.layer.load_state_dict(saved["layer"])
        self.mean = saved["mean"]

    def forward(self, x):
        return self.layer(x - self.mean)


def saved_scorer():
    file = io.BytesIO()
    scorer = Scorer(4).to(FIT_ON)
    torch.save({"layer": scorer.layer.state_dict(), "mean": torch.ones(4, device=FIT_ON)}, file)
    file.seek(0)
    return file


def load_scorer(file, device):
    scorer = Scorer(4).to(device)
    saved = torch.load(file, map_location=FIT_ON)
    scorer.restore(saved)
    return scorer


scorer = load_scorer(saved_scorer(), "cuda:1")
x = torch.randn(3, 4, device="cuda:1")
scorer(x)
