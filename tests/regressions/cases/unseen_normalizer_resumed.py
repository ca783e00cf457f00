# expect: DV103 | gpus: 1 | operands: self.std, normed | owner: torch.load
"""Resuming: the weights go to the GPU by load_state_dict, the target normalizer stays where torch.load put it."""

import os
import tempfile

import torch
from torch import nn


class Normalizer:
    def __init__(self, mean=None, std=None):
        self.mean, self.std = mean, std

    def denorm(self, normed):
        return normed * self.std + self.mean

    def state_dict(self):
        return {"mean": self.mean, "std": self.std}

    def load_state_dict(self, state):
        self.mean, self.std = state["mean"], state["std"]


class BaseTrainer:
    def __init__(self, device):
        self.device = device
        self.model = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 3)).to(device)
        self.normalizer = Normalizer(torch.zeros(3, device=device), torch.ones(3, device=device))

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "normalizer": self.normalizer.state_dict()}, path)

    def load(self, path):
        checkpoint = torch.load(path, map_location="cpu")
        self.model.load_state_dict(checkpoint["model"])
        self.normalizer.load_state_dict(checkpoint["normalizer"])

    @torch.no_grad()
    def predict(self, x):
        return self.normalizer.denorm(self.model(x.to(self.device)))


path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")
BaseTrainer("cuda:0").save(path)
trainer = BaseTrainer("cuda:0")
trainer.load(path)
print(trainer.predict(torch.randn(5, 4)))
