"""GPUs are numbered within a machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devsan.fix.candidates.rank_of_machine import propose
from devsan.fix.change import texts
from devsan.fix.failure import Failure

PROGRAM = """import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
device = torch.device("cuda", rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4).to(device), device_ids=[rank])
model(torch.ones(2, 8, device=f"cuda:{rank}"))
if rank == 0:
    print(f"rank {rank} on cuda:{rank}", model.to(dist.get_rank()))
"""


@pytest.fixture
def failure(tmp_path: Path) -> Any:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM, encoding="utf-8")
    frame = {"path": str(path), "function": "<module>", "line": 6, "column": 1, "end_line": 6, "end_column": 28}
    return lambda kind, rank: Failure({"kind": kind, "rank": rank, "stack": [frame], "operands": []})


def test_each_device_is_that_of_the_rank_within_the_machine(failure: Any) -> None:
    [change] = propose(failure("ordinal", 3))
    [text] = texts(change.edits, {}).values()
    changed = [line for line, before in zip(text.splitlines()[1:], PROGRAM.splitlines(), strict=True) if line != before]
    assert changed == [
        'torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))',
        'device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))',
        "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4).to(device), "
        'device_ids=[int(os.environ.get("LOCAL_RANK", 0))])',
        "model(torch.ones(2, 8, device=f\"cuda:{os.environ.get('LOCAL_RANK', 0)}\"))",
        '    print(f"rank {rank} on cuda:{rank}", model.to(int(os.environ.get("LOCAL_RANK", 0))))',
    ]
    assert text.splitlines()[0] == "import os"


@pytest.mark.parametrize(("kind", "rank"), [("mixed", 3), ("ordinal", None)])
def test_not_of_another_failure(failure: Any, kind: str, rank: int | None) -> None:
    assert list(propose(failure(kind, rank))) == []
