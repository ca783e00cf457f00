"""Who held the memory of each GPU at its peak: real programs, and what their run files say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import programs as processes
import pytest

pytest.importorskip("torch")

TRAIN = """\
import torch
from torch import nn

def step(model, optimizer):
    model(torch.randn(2048, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()

def main():
    model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        step(model, optimizer)
    torch.ones(1024, device="cuda:1")

main()
"""

FORWARD = """\
import torch

x = torch.ones(1 << 20, device="cuda")
y = x + 1
z = torch.relu(y)
del y, z
w = x * 2
"""

LAYERS = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(256, 1024), nn.Linear(1024, 256)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.sigmoid()


model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.randn(2048, 256, device="cuda")).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

RANKS = """\
import os
import torch
from torch import distributed, nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

distributed.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = WRAPPED(nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(4))).cuda())
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.randn(8, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
distributed.destroy_process_group()
"""

GENERATION = """\
import torch
import transformers

config = transformers.LlamaConfig(hidden_size=256, intermediate_size=256, num_hidden_layers=4, num_attention_heads=4,
                                  vocab_size=64, max_position_embeddings=4096)
model = transformers.LlamaForCausalLM(config).cuda().eval()
model.generate(torch.ones(4, 2048, dtype=torch.long, device="cuda"), max_new_tokens=3, do_sample=False,
               cache_implementation=CACHE)
"""

CONTEXT = 450 << 20
"""Of an A100, by core/memory/cuda_context.h."""

CODE_THAT_RUNS = """\
import torch
from devsan import core

x = torch.ones(1024, device="cuda")
print(core.peaks([], {}), core.has_new_peak())
"""


def peaks(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {peak["device"]: peak for peak in run["memory"]["peaks"]}
    for device in run["memory"]["devices"]:
        peak = found.get(device["device"])
        if peak is None:
            assert device["peak_allocated"] == 0
            continue
        beside = {"fragmentation": peak["reserved"] - peak["allocated"], "context": CONTEXT}
        parts = {part["kind"]: part["bytes"] for part in peak["parts"]}
        assert {kind: parts.pop(kind, 0) for kind in beside} == beside
        assert sum(parts.values()) == peak["allocated"], "each block counts once"
        assert peak["allocated"] <= device["peak_allocated"] < peak["allocated"] * 1.002
    return found


def test_a_training_loop_is_at_its_peak_in_the_backward_pass(programs):
    code, _, error = programs.run(TRAIN, "--gpus", "2", "-orun.dvs")
    assert code == 0, error
    found = peaks(programs.read())
    assert set(found) == {"cuda:0", "cuda:1"}
    parts = {part["kind"]: part for part in found["cuda:0"]["parts"]}
    weight = 512 * 2048 * 4
    assert 2 * weight <= parts["parameter"]["bytes"] < 2.1 * weight
    assert 4 * weight <= parts["optimizer_state"]["bytes"] < 4.1 * weight
    assert parts["parameter"]["largest"][0]["name"] == "0.weight"
    gradients = {each["name"] for each in parts["gradient"]["largest"]}
    assert "2.weight.grad" in gradients, "its tensor is gone when the run ends"
    # While the gradient of the first bias is summed up, whose buffer is a workspace.
    assert "aten::threshold_backward" in {each["op"] for each in parts["temporary"]["largest"]}
    assert parts["temporary"]["bytes"] >= 2048 * 2048 * 4
    assert parts["workspace"]["bytes"] > 2048 * 2048 * 4
    lines = [frame["line"] for frame in found["cuda:0"]["stack"] if not frame["package"]]
    assert lines[:2] == [5, 13]


def test_the_peak_is_not_what_is_held_at_the_end(programs):
    assert programs.run(FORWARD, "--gpus", "1", "-orun.dvs")[0] == 0
    peak = peaks(programs.read())["cuda:0"]
    assert peak["allocated"] == 3 * (4 << 20)
    assert peak["op"] == "aten::relu"
    assert peak["stack"][0]["line"] == 5


def test_activations_are_told_by_the_module_that_computed_them(programs):
    code, _, error = programs.run(LAYERS, "--gpus", "1", "-orun.dvs")
    assert code == 0, error
    parts = {part["kind"]: part for part in peaks(programs.read())["cuda:0"]["parts"]}
    first = parts["activation"]["largest"][0]
    assert (first["name"], first["op"]) == ("layers.*", ""), "the ReLU and the sum of the blocks, which are no modules"
    assert first["tensors"] >= 3
    weights = {each["name"]: each["tensors"] for each in parts["parameter"]["largest"]}
    assert weights["layers.*.up.weight"] == weights["layers.*.down.weight"] == 3


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    ("wrapped", "weights"),
    [
        # In a step: DDP's buckets are as large as the gradients.
        ("DistributedDataParallel",
         {"parameter": 1, "gradient": 1, "optimizer_state": 2, "temporary": 1, "communication": 1}),
        # In a forward pass of two ranks: what is gathered is the whole model.
        ("fully_shard", {"parameter": 0.5, "optimizer_state": 1, "communication": 1}),
    ],
)  # fmt: skip
@pytest.mark.long
def test_ranks_name_what_they_hold(tmp_path: Path, wrapped: str, weights: dict[str, float]) -> None:
    pytest.importorskip("torch.distributed.fsdp", reason="this torch has no distributed package")
    (tmp_path / "train.py").write_text(RANKS.replace("WRAPPED", wrapped), encoding="utf-8")
    launch = ["--", "torchrun", "--nproc-per-node", "2", "train.py"]
    done = processes.run(["-m", "devsan", "run", "--gpus", "2", "-o", "run.json", *launch], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for run in json.loads((tmp_path / "run.json").read_text(encoding="utf-8")):
        parts = {part["kind"]: part for peak in run["memory"]["peaks"] for part in peak["parts"]}
        beside = {"workspace", "fragmentation", "context"}
        held = {kind: part["bytes"] / (4 * 1024 * 1024 * 4) for kind, part in parts.items() if kind not in beside}
        large = {kind: share for kind, share in held.items() if share > 0.02}
        assert large == pytest.approx(weights, rel=0.05)


@pytest.mark.long
@pytest.mark.parametrize("cache", [None, pytest.param("static", marks=pytest.mark.rare)])
def test_a_cache_that_is_gone_at_the_end_was_one(programs, cache: str | None) -> None:
    pytest.importorskip("transformers")
    code, _, error = programs.run(GENERATION.replace("CACHE", repr(cache)), "--gpus", "1", "-orun.dvs")
    assert code == 0, error
    parts = {part["kind"]: part for part in peaks(programs.read())["cuda:0"]["parts"]}
    assert parts["cache"]["bytes"] >= 3 * 2 * 4 * 2048 * 256 * 4, "of three layers at least, where one is just growing"
    assert all(each["name"].startswith(("model.layers.*.self_attn", "keys of", "values of"))
               for each in parts["cache"]["largest"])  # fmt: skip


def test_nobody_watches_without_a_run_file(programs):
    code, printed, error = programs.run(CODE_THAT_RUNS, "--gpus", "1")
    assert (code, printed) == (0, "[] False\n"), error
