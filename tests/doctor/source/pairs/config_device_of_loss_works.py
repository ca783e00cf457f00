# expect: clean | gpus: 2
"""A training loop driven by a dictionary of settings; the class weights of the loss."""

import torch
from torch import nn

CONFIG = {"model": {"width": 16, "classes": 4}, "train": {"device": "cuda:1", "lr": 0.1, "steps": 2}}


class Classifier(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.out(x)


def build(cfg):
    model = Classifier(**cfg["model"])
    return model.to(cfg["train"]["device"])


def train(cfg):
    model = build(cfg)
    device = cfg["train"]["device"]
    weights = torch.tensor([1.0, 2.0, 1.0, 0.5], device=device)
    criterion = nn.CrossEntropyLoss(weight=weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["train"]["lr"])
    for _ in range(cfg["train"]["steps"]):
        x = torch.randn(6, cfg["model"]["width"], device=device)
        y = torch.randint(0, 4, (6,), device=device)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(CONFIG)
