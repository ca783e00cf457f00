"""Tensors of the host in jobs of several ranks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devsan.fix.scope import devices
from devsan.fix.source import source_of

RUNNING_MEAN = """\
import os
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
total = torch.zeros(2)
total += 1 + dist.get_rank()
dist.all_reduce(total)
weight = torch.nn.Parameter(torch.ones(2, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
(weight * total.to("cuda")).sum().backward()
optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.long
def test_what_a_group_writes_to_is_made_on_the_gpu_of_the_rank(fixed_in_ranks: Callable[[str], str]):
    text = fixed_in_ranks(RUNNING_MEAN)
    assert 'total = torch.zeros(2, device="cuda")' in text


@pytest.mark.parametrize(("line", "device"), [
    ("accelerator = Accelerator()", "accelerator.device"),
    ("fabric = lightning.Fabric(devices=2)", "fabric.device"),
    ("engine, *_ = deepspeed.initialize(model=net)", "engine.device"),
])  # fmt: skip
def test_what_a_framework_has_chosen_says_the_device(tmp_path: Path, line: str, device: str):
    path = tmp_path / "train.py"
    path.write_text(f"def main():\n    {line}\n    scale = torch.ones(2)\n", encoding="utf-8")
    source = source_of(str(path))
    assert source is not None
    node = source.named_at(3, "torch.ones(2)")
    assert node is not None
    operand = {"name": "model(x)", "device": "cuda:0", "provenance": ()}
    assert [text for text, _ in devices(source, node, operand)] == [device, '"cuda:0"']
