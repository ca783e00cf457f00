# expect: clean | gpus: 2
"""The builder of a task makes the optimizer; the runner moves the model."""

import torch
from torch import nn


def build(lr=0.1):
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    return {"model": model.to("cuda:0"), "optimizer": None, "lr": lr}


def run(task, device="cuda:0"):
    task["optimizer"] = torch.optim.Adagrad(task["model"].parameters(), lr=task["lr"])
    model = task["model"].to(device)
    loss = model(torch.randn(2, 4, device=device)).sum()
    loss.backward()
    task["optimizer"].step()


run(build())
