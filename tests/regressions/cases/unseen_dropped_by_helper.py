# expect: DV103 | gpus: 2 | operands: scores, bias | owner: program
"""A helper of a helper moves the spectrum to the next stage's GPU, and returns the one that stayed."""

import torch
from torch import nn

FRONT, BACK = "cuda:0", "cuda:1"


def spectrum(wave, device):
    frames = wave.unfold(-1, 16, 8)
    power = frames.pow(2).mean(-1)
    power.cuda(device)
    return power


def features(wave):
    loud = spectrum(wave, BACK)
    return torch.log1p(loud)


def calibrate(scores, bias):
    return scores + bias


front = nn.Linear(64, 64).to(FRONT)
bias = torch.zeros(7, device=BACK)
scores = features(front(torch.randn(3, 64, device=FRONT))) * 0.5
calibrate(scores, bias)
