"""Ranks that all take the first GPU."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import pytest
from seeded import quiet

from devsan.fix.candidates.rank_device import _first_gpus
from devsan.fix.change import applied
from devsan.fix.experiment import Laboratory
from devsan.fix.failure import source_of
from devsan.fix.job import Job
from devsan.fix.search import search
from devsan.options import Options

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
def test_each_rank_gets_its_gpu(tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text(ALL_ON_ZERO, encoding="utf-8")
    torchrun = ("--", sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    job = Job(Options().updated({"gpus": "2"}), (*torchrun, str(script)), str(tmp_path),
              {**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    with Laboratory(job, 200) as laboratory:
        found = search(laboratory, quiet)
    assert found.verified, [(trial.status, [str(each.text) for each in trial.changes]) for trial in found.trials]
    (text,) = applied(found.verified[0].changes).values()
    assert "torch.device(f\"cuda:{os.environ.get('LOCAL_RANK', 0)}\")" in text
    assert text.startswith("import os\nimport torch\n")


def test_what_is_given_to_a_call_alone_is_a_device(tmp_path: Path):
    path = tmp_path / "train.py"
    path.write_text('if device.type == "cuda":\n    x.to("cuda", non_blocking=True)\n', encoding="utf-8")
    source = source_of(str(path))
    assert source is not None
    assert [ast.unparse(node) for node in _first_gpus(source)] == ["'cuda'"]
