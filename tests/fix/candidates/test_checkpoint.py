"""Checkpoints that are read to another device than that of what they are used with."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from devsan.fix.scope import devices
from devsan.fix.source import source_of

Fixed = Callable[..., list[str]]


def test_a_checkpoint_of_a_gpu_that_is_not_there_is_read_to_the_host(fixed: Fixed, tmp_path: Path):
    saved = tmp_path / "saved.pt"
    code = f'import torch; torch.save(torch.ones(3, device="cuda:1"), {str(saved)!r})'
    subprocess.run([sys.executable, "-m", "devsan", "run", "--gpus", "2", "-c", code], check=True)
    assert fixed("""
import torch

weight = torch.load("saved.pt")
print(weight.sum().item())
""") == ['weight = torch.load("saved.pt", map_location="cpu")']


def test_random_states_are_read_to_the_host(fixed: Fixed):
    assert fixed(
        """
import os, tempfile
import torch

device = "cuda:1"
net = torch.nn.Linear(2, 2).to(device)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "state.pt")
    torch.save({"net": net.state_dict(), "random": torch.get_rng_state()}, path)
    state = torch.load(path, map_location=device)
net.load_state_dict(state["net"])
torch.set_rng_state(state["random"])
print(net(torch.rand(1, 2).to(device)).sum().item())
""",
        gpus=2,
    ) == ['state = torch.load(path, map_location="cpu")']


def test_an_average_is_read_to_the_gpu_of_the_weights(fixed: Fixed):
    assert fixed(
        """
import os, tempfile
import torch

def resume(path, net):
    saved = torch.load(path, map_location="cpu")
    net.load_state_dict(saved["net"])
    return saved["average"]

net = torch.nn.Linear(2, 2).to("cuda:1")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "state.pt")
    torch.save({"net": net.state_dict(), "average": {"weight": net.weight.detach().clone()}}, path)
    average = resume(path, net)
average["weight"].lerp_(net.weight.detach(), 0.5)
print(average["weight"].sum().item())
""",
        gpus=2,
    ) == ["saved = torch.load(path, map_location=net.weight.device)"]


def test_what_layers_on_two_gpus_computed_is_read_to_those(fixed: Fixed):
    assert fixed(
        """
import os, tempfile
import torch

layers = [torch.nn.Linear(2, 2).to("cuda:0"), torch.nn.Linear(2, 2).to("cuda:1")]
device = layers[0].weight.device

def run(x, kept):
    for layer, before in zip(layers, kept):
        x = layer(x.to(layer.weight.device)) + before
    return x

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "kept.pt")
    torch.save([layer(torch.ones(1, 2, device=layer.weight.device)).detach() for layer in layers], path)
    kept = torch.load(path, map_location=device)
print(run(torch.ones(1, 2, device=device), kept).sum().item())
""",
        gpus=2,
    ) == ["kept = torch.load(path)"]


def test_a_checkpoint_is_read_to_the_gpu_of_the_accelerator_that_a_class_holds(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text(
        """\
class Run:
    def __init__(self):
        self.acc = Accelerator()

    def resume(self):
        self.norm.load(torch.load("norm.pt"))
""",
        encoding="utf-8",
    )
    source = source_of(str(path))
    assert source is not None
    call = next(each for each in ast.walk(source.tree) if ast.unparse(each) == "torch.load('norm.pt')")
    partner = {"name": "x", "device": "cuda:1", "provenance": ()}
    assert devices(source, call, partner)[0] == ("self.acc.device", 0)
