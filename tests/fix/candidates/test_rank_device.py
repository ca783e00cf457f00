"""Ranks that all take the first GPU."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.fix.candidates.rank_device import _first_gpus, propose
from devsan.fix.change import applied
from devsan.fix.failure import Failure
from devsan.fix.source import source_of

ALL_ON_ZERO = """\
import torch
import torch.distributed as dist


def main():
    dist.init_process_group("nccl")
    device = torch.device("cuda:0")
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(2, 4, device=device) * (1 + dist.get_rank())).sum().backward()
    optimizer.step()
    dist.destroy_process_group()


main()
"""


@pytest.mark.long  # half a minute
def test_each_rank_gets_its_gpu(fixed_in_ranks: Callable[[str], str]):
    text = fixed_in_ranks(ALL_ON_ZERO)
    assert "torch.device(f\"cuda:{os.environ.get('LOCAL_RANK', 0)}\")" in text
    assert text.startswith("import os\nimport torch\n")


OBJECTS = """\
import os, torch, torch.distributed as dist

# no torch.cuda.set_device
dist.init_process_group("nccl")
device = f"cuda:{os.environ['LOCAL_RANK']}"
loss = torch.nn.Linear(4, 2).to(device)(torch.ones(2, 4, device=device)).sum()
kept = [None, None]
dist.all_gather_object(kept, loss.item())
print(kept)
dist.destroy_process_group()
"""


def test_a_collective_of_objects_needs_the_current_gpu(fixed_in_ranks: Callable[[str], str]):
    """What it sends is on the current GPU. A backend for the CPU would do as well, and hide the next one."""
    text = fixed_in_ranks(OBJECTS)
    assert 'torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))\n' in text
    assert "gloo" not in text


SECOND_FAULT = """\
import os
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 3).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
weights = torch.linspace(0.5, 1.5, 3)
best = torch.tensor(float("inf"), device="cuda:0")
for step in range(2):
    x, y = torch.randn(5, 4, device="cuda"), torch.randint(0, 3, (5,), device="cuda")
    loss = torch.nn.functional.cross_entropy(model(x), y, weight=weights)
    loss.backward()
    optimizer.step()
    best = torch.minimum(best, loss.detach())
print(best.item())
dist.destroy_process_group()
"""


@pytest.mark.long  # half a minute
def test_a_tensor_that_every_rank_puts_on_the_first_gpu(fixed_in_ranks: Callable[[str], str]):
    """The second fault of the program: what ends with another rank's memory is no fix of it."""
    text = fixed_in_ranks(SECOND_FAULT)
    assert 'best = torch.tensor(float("inf"), device="cuda")\n' in text
    assert "best.device" not in text


def test_what_is_given_to_a_call_alone_is_a_device(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text('if device.type == "cuda":\n    x.to("cuda", non_blocking=True)\n', encoding="utf-8")
    source = source_of(str(path))
    assert source is not None
    assert [ast.unparse(node) for node, _ in _first_gpus(source.tree)] == ["'cuda'"]


def test_a_number_is_a_device_where_a_device_is_asked_for(tmp_path: Path):
    path = tmp_path / "train.py"
    lines = [
        'device = torch.device("cuda", 0)',
        "model = DDP(model.cuda(0), device_ids=[0], output_device=0)",
        "x = torch.full((2,), 0).to(0)",
        "y = torch.zeros(2, device=0)",
        'z = torch.device("cuda", rank)',
        "w = f(0).sum(0)",
        'v = torch.device("cuda", index=0)',
        "both = DataParallel(model, device_ids=[0, 1])",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    source = source_of(str(path))
    assert source is not None
    found = _first_gpus(source.tree)
    assert {own for _, own in found} == {'int(os.environ.get("LOCAL_RANK", 0))'}
    assert sorted(node.lineno for node, _ in found) == [1, 2, 2, 2, 3, 4, 7]


OPTION = """\
import argparse
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
dist.init_process_group("nccl")
device = torch.device("cuda", args.local_rank)
torch.manual_seed(0)
model = torch.nn.Linear(4, 2).to(device)
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[args.local_rank])
model(torch.ones(2, 4, device=device)).sum().backward()
dist.destroy_process_group()
"""


def test_an_option_that_the_launcher_leaves_out_defaults_to_its_variable(fixed_in_ranks: Callable[[str], str]):
    """The current GPU alone would not do: the program says a number."""
    text = fixed_in_ranks(OPTION)
    assert 'add_argument("--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))' in text
    assert "set_device" not in text


LATE = """\
import os
import torch

def main():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.manual_seed(0)
    frequencies = torch.ones(3, device="cuda")
    torch.cuda.set_device(local_rank)
    frequencies += torch.ones(3, device=f"cuda:{local_rank}")

main()
"""


def test_the_current_gpu_is_set_as_soon_as_the_rank_is_known(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text(LATE, encoding="utf-8")
    operands = [{"provenance": [], "device": "cuda:0"}, {"provenance": [], "device": "cuda:1"}]
    frame = {"path": str(path), "line": 9, "column": 5, "end_line": 9, "end_column": 64, "package": ""}
    finding = {"rank": 1, "kind": "mixed", "operands": operands, "stack": [frame]}
    changes = [each for each in propose(Failure(finding, [])) if each.kind == "statement_order"]
    (text,) = applied(changes).values()
    lines = [line.strip() for line in text.splitlines()]
    assert lines[4:8] == ['local_rank = int(os.environ["LOCAL_RANK"])', "torch.cuda.set_device(local_rank)",
                          "torch.manual_seed(0)", 'frequencies = torch.ones(3, device="cuda")']  # fmt: skip


LOADED = """\
import torch
from transformers import AutoModelForCausalLM

teacher = AutoModelForCausalLM.from_pretrained("folder", device_map={"": 0})
"""


def test_a_map_of_one_entry_names_the_gpu_of_the_rank(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text(LOADED, encoding="utf-8")
    where = {"path": str(path), "line": 4, "column": 11, "end_line": 4, "end_column": 77}
    owner = {"name": "transformers", "setting": 'device_map={"": 0}', "where": where}
    operands = [{"provenance": [], "device": "cuda:0"}, {"provenance": [], "device": "cuda:1"}]
    finding = {"rank": 1, "kind": "mixed", "operands": operands, "stack": []}
    (change,) = propose(Failure(finding, [{"placements": [{"owner": owner}]}]))
    (text,) = applied([change]).values()
    assert text.startswith("import os\n")
    assert 'device_map={"": int(os.environ.get("LOCAL_RANK", 0))})' in text
