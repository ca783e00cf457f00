"""Ranks at full size: they meet in every collective, and move only what has numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import programs
import pytest

COLLECTIVES = """\
import json, resource, sys
import torch, torch.distributed as dist

dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(rank)
from devsan import _core

HUGE = 1 << 31  # elements: 8 GiB, of which no rank has any
huge = torch.ones(HUGE, device="cuda")
small = torch.full((4,), float(rank), device="cuda")
unknown = huge[:2].clone()

def made(*sizes):
    return torch.zeros(sizes, device="cuda")

def told(name, *tensors):
    found[name] = [_core.is_unknown(each) for each in tensors]

found = {}
dist.all_reduce(huge); told("all_reduce", huge)
dist.all_reduce(huge, op=dist.ReduceOp.AVG); told("average", huge)
dist.broadcast(huge, 0); told("broadcast", huge)
dist.reduce(huge, 1); told("reduce", huge)
whole = made(ranks, HUGE)
dist.all_gather_into_tensor(whole, huge); told("all_gather_into_tensor", whole)
dist.all_gather([each for each in whole], huge); told("all_gather", whole)
dist.reduce_scatter_tensor(huge, whole); told("reduce_scatter_tensor", huge)
dist.reduce_scatter(huge, [each for each in whole]); told("reduce_scatter", huge)
dist.gather(huge, [each for each in whole] if rank == 0 else None, 0); told("gather", whole)
dist.scatter(huge, [each for each in whole] if rank == 0 else None, 0); told("scatter", huge)
dist.send(huge, 1) if rank == 0 else dist.recv(huge, 0); told("point to point", huge)
del whole, huge
dist.all_reduce(small); found["a small sum"] = small.tolist()
dist.all_reduce(unknown); told("a small sum of what is unknown", unknown)
gathered = made(ranks, 4)
dist.all_gather_into_tensor(gathered, small); told("a small gather", gathered)
objects = [None] * ranks
dist.all_gather_object(objects, {"rank": rank, "long": "x" * 500_000})
found["objects"] = [(each["rank"], len(each["long"])) for each in objects]
found["GiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
json.dump(found, open(f"{sys.argv[1]}/{rank}.json", "w"))
dist.barrier()
dist.destroy_process_group()
"""

FORWARD = """\
import torch, torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
loss = torch.ones(512, 512, device="cuda").mean()
if loss.item() > 0:
    dist.all_reduce(loss)
dist.destroy_process_group()
"""


def launch(text: str, folder: Path, *words: str) -> Any:
    (folder / "train.py").write_text(text)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    options = ["--gpus", "2", "--memory", "64GiB", "--full-size"]
    return programs.run(["-m", "devsan", "run", *options, "--", *torchrun, "train.py", *words], cwd=folder)


@pytest.mark.long
def test_payloads_without_numbers_are_not_moved(tmp_path: Path) -> None:
    done = launch(COLLECTIVES, tmp_path, str(tmp_path))
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        found = json.loads((tmp_path / f"{rank}.json").read_text())
        assert found.pop("GiB") < 2, "a payload takes 8"
        assert found.pop("a small sum") == [1.0] * 4
        assert found.pop("objects") == [[0, 500_000], [1, 500_000]]
        assert found.pop("a small gather") == [False]
        assert found and set(map(tuple, found.values())) == {(True,)}, found


@pytest.mark.long
def test_a_read_in_several_ranks_is_one_note(tmp_path: Path) -> None:
    done = launch(FORWARD, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("note[DV605]") == 1 and "ranks 0 and 1" in done.stderr
    assert "not compared" not in done.stderr
