# expect: DV110 | gpus: 2 | operands: exp_avg, device_grads[0] | owner: torch.load
"""Moments of a checkpoint are put into the optimizer by hand, as they were read; its weights are by load_state_dict."""

import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn


def build():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))


def save(path):
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.randn(8, 16)).sum().backward()
    optimizer.step()
    moments = {name: dict(optimizer.state[weight]) for name, weight in model.named_parameters()}
    torch.save({"model": model.state_dict(), "moments": moments}, path)


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "last.pt"
    save(path)
    device = torch.device("cuda:1")
    model = build().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    saved = torch.load(path, map_location="cpu")
    model.load_state_dict(saved["model"])
    for name, weight in model.named_parameters():
        optimizer.state[weight].update(saved["moments"][name])
    for _ in range(3):
        x, y = torch.randn(8, 16, device=device), torch.randint(0, 4, (8,), device=device)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
