"""What a wrapper refuses of a model on several GPUs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devsan.fix.search import Search

Searched = Callable[..., Search]
Fixed = Callable[..., list[str]]


def test_a_module_goes_to_the_first_gpu_of_data_parallel(fixed: Fixed):
    assert fixed(
        """
import torch

model = torch.nn.DataParallel(torch.nn.Linear(4, 4).to("cuda:1"))
model(torch.ones(4, 4, device="cuda:0"))
""",
        gpus=2,
    ) == ['model = torch.nn.DataParallel(torch.nn.Linear(4, 4).to("cuda:0"))']


def test_ddp_of_a_module_on_two_gpus_takes_no_device_ids(searched: Searched):
    found = searched(
        """
import torch
import torch.distributed as dist

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
model = torch.nn.Sequential(torch.nn.Linear(4, 4).to("cuda:0"), torch.nn.Linear(4, 4).to("cuda:1"))
torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
dist.destroy_process_group()
""",
        gpus=2,
    )
    ended = [trial.changes[0].edits[0].after for trial in found.trials if trial.outcome and trial.outcome.ended]
    assert ended == ["torch.nn.parallel.DistributedDataParallel(model)"]


def test_a_map_that_names_no_module_of_the_model(searched: Searched):
    pytest.importorskip("accelerate")
    found = searched(
        """
import torch
from accelerate import dispatch_model

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
model = dispatch_model(model, device_map={"model.0": 0, "model.1": 1})
model(torch.ones(2, 4, device="cuda:0"))
""",
        gpus=2,
    )
    ended = [trial for trial in found.trials if trial.outcome and trial.outcome.ended]
    assert [str(trial.changes[0].text) for trial in ended] == ["have accelerate make the device map for this model"]
