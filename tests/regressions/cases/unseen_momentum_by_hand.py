# expect: DV110 | gpus: 1 | operands: buf, grad | owner: torch.load
"""Resuming by hand: the momentum buffers are put into the optimizer as they were loaded."""

import io

import torch
from torch import nn


def snapshot(model, optimizer):
    buffer = io.BytesIO()
    names = {p: n for n, p in model.named_parameters()}
    momentum = {names[p]: s["momentum_buffer"].cpu() for p, s in optimizer.state.items()}
    torch.save({"model": model.state_dict(), "momentum": momentum}, buffer)
    buffer.seek(0)
    return buffer


def resume(model, optimizer, buffer):
    saved = torch.load(buffer, map_location="cpu")
    model.load_state_dict(saved["model"])
    for name, parameter in model.named_parameters():
        optimizer.state[parameter]["momentum_buffer"] = saved["momentum"][name]


def step(model, optimizer):
    loss = model(torch.randn(4, 5, device="cuda:0")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def make():
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1)).to("cuda:0")
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)


model, optimizer = make()
step(model, optimizer)
saved = snapshot(model, optimizer)
model, optimizer = make()
resume(model, optimizer, saved)
step(model, optimizer)
