"""A model that is handed to a function which may place it is anywhere, and no finding says that it is on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from devsan.doctor.source import check

PROGRAM = """
import os
import torch
from torch import nn
import torch.distributed as dist
{imports}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.norm(x))

def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    model = Net()
    {handed}
    model(torch.randn(4, 16, device="cuda")).sum().backward()

main()
"""


def codes_of(folder: Path, imports: str, handed: str) -> set[str]:
    path = folder / "train.py"
    path.write_text(PROGRAM.format(imports=imports, handed=handed), encoding="utf-8")
    return {finding.code for finding in check([path], edits=False).findings if finding.severity != "note"}


@pytest.mark.parametrize(
    ("imports", "handed"),
    [
        ("from torch.distributed.fsdp import fully_shard", "fully_shard(model)"),
        ("from torch.distributed.fsdp import fully_shard", "[fully_shard(each) for each in (model.norm, model.head)]"),
        ("from torch.distributed.tensor.parallel import parallelize_module", "parallelize_module(model, mesh, {})"),
        ("from torch.distributed.tensor.parallel import *", "parallelize_module(model, mesh, {})"),
        ("from megatron import place", "place(model)"),
        ("import placement", "placement.put(model=model)"),
        ("from accelerate.hooks import attach_align_device_hook", "attach_align_device_hook(model, 0)"),
        ("from accelerate import cpu_offload", 'cpu_offload(model, execution_device=torch.device("cuda", local))'),
        ("", "model._apply(lambda weight: weight.cuda())"),
        ("", 'for p in model.parameters():\n        p.data = p.data.to("cuda")'),
    ],
)
def test_what_may_have_placed_a_model_is_believed(tmp_path: Path, imports: str, handed: str):
    assert codes_of(tmp_path, imports, handed) == set()


@pytest.mark.parametrize(
    ("imports", "handed"),
    [
        ("", "pass"),
        ("", "print(model)"),
        ("", "for p in model.parameters():\n        p.requires_grad = True"),
        ("import torch.nn.init", "torch.nn.init.ones_(model.norm.weight)"),
    ],
)
def test_what_places_nothing_leaves_it_on_the_cpu(tmp_path: Path, imports: str, handed: str):
    assert codes_of(tmp_path, imports, handed) == {"DV105"}


def test_an_offload_without_a_device_uses_the_gpus_of_other_ranks(tmp_path: Path):
    assert "DV204" in codes_of(tmp_path, "from accelerate import cpu_offload", "cpu_offload(model)")
