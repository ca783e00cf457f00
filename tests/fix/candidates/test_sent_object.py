"""Tensors in objects that ranks send are taken to the host first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from devsan.fix.candidates.sent_object import propose
from devsan.fix.change import applied
from devsan.fix.failure import Failure


def test_what_is_gathered_as_an_object_is_sent_from_the_host(fixed_in_ranks: Callable[[str], str]):
    text = fixed_in_ranks("""
import os

import torch
import torch.distributed as dist

def gathered(of_rank):
    parts = [None, None]
    dist.all_gather_object(parts, of_rank)
    return parts

dist.init_process_group("gloo")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
scores = torch.arange(3.0, device="cuda") + rank
mine = {"scores": scores.detach(), "rank": rank}
print(torch.cat([part["scores"] for part in gathered(mine)]).sum().item())
dist.destroy_process_group()
""")
    assert 'mine = {"scores": scores.detach().cpu(), "rank": rank}' in text


def test_what_a_function_has_gathered_is_put_there_from_the_host(fixed_in_ranks: Callable[[str], str]):
    text = fixed_in_ranks("""
import os

import torch
import torch.distributed as dist

def merged(shard):
    parts = [None, None]
    dist.all_gather_object(parts, shard)
    return [part[key] for part in parts for key in sorted(part)]

def scored(rank):
    found = {}
    for key in range(2):
        score = torch.arange(3.0, device="cuda") + rank + key
        found[f"{rank}-{key}"] = (score.clone(), key)
    return found

dist.init_process_group("gloo")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
print(torch.stack([score for score, _ in merged(scored(rank))]).sum().item())
dist.destroy_process_group()
""")
    assert 'found[f"{rank}-{key}"] = (score.clone().cpu(), key)' in text


SENT = """
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass
class Shard:
    rank: int
    rows: torch.Tensor


def encoded(rank):
    rows = torch.arange(3.0, device="cuda") + rank
    return Shard(rank=rank, rows=torch.cat([rows, rows]))


def fitted(rows):
    best = torch.where(rows > 1, rows, rows.mean())
    return {"centers": best, "sizes": rows.sum(0), "loss": 0.5}


def shared(rows):
    payload = [None]
    if dist.get_rank() == 0:
        payload[0] = fitted(rows)
    dist.broadcast_object_list(payload, src=0)
    return payload[0]


def gathered(shard):
    shards = [None, None]
    dist.all_gather_object(shards, shard)
    return shards


dist.init_process_group("gloo")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
here = torch.ones(3, device="cuda")
{use}
dist.destroy_process_group()
"""


def test_the_fields_of_an_object_are_sent_from_the_host(fixed_in_ranks: Callable[[str], str]):
    text = fixed_in_ranks(
        SENT.replace("{use}", "print(torch.cat([each.rows for each in gathered(encoded(rank))]).sum().item())")
    )
    assert "rows=torch.cat([rows, rows]).cpu())" in text


def test_what_is_put_into_a_list_that_is_sent_comes_from_the_host(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text(SENT)
    lines = SENT.splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "broadcast_object_list" in text)
    column = lines[line - 1].index("dist") + 1
    frame = {"path": str(path), "line": line, "column": column, "end_line": line,
             "end_column": len(lines[line - 1]) + 1, "function": "shared", "package": ""}  # fmt: skip
    received = {"owner": {"name": "torch.distributed", "mechanism": "broadcast_object_list"}, "frames": [frame]}
    (change,) = propose(Failure({"operands": [{"provenance": [received]}]}))
    assert '{"centers": best.cpu(), "sizes": rows.sum(0).cpu(), "loss": 0.5}' in applied([change])[str(path)]
    assert change.halfway


def test_what_a_comprehension_sends_is_sent_from_the_host(fixed_in_ranks: Callable[[str], str]):
    text = fixed_in_ranks("""
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
columns = [[torch.arange(3.0, device="cuda") + rank], [torch.ones(2, device="cuda")]]
mine = tuple(torch.cat(each) for each in columns)
parts = [None, None]
dist.all_gather_object(parts, mine)
print([torch.cat(column).sum().item() for column in zip(*parts)])
dist.destroy_process_group()
""")
    assert "mine = tuple(torch.cat(each).cpu() for each in columns)" in text
