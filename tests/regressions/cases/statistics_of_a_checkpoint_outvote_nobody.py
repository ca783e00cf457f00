# expect: DV101 | gpus: 2 | operands: mean, x | owner: torch.load
import os
import tempfile

import torch
from torch import nn


def load(path, model, strict=True):
    state = torch.load(path)
    model.load_state_dict(state["model"], strict=strict)
    return state["mean"], state["std"]


net = nn.Linear(6, 3).to("cuda:1")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.pt")
    statistics = {"mean": torch.zeros(6, device="cuda:0"), "std": torch.ones(6, device="cuda:0")}
    torch.save({"model": net.state_dict(), **statistics}, path)
    mean, std = load(path, net)
x = torch.randn(4, 6).to("cuda:1")
net((x - mean) / std).sum().backward()
