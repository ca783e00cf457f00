"""The check of streams in ranks: libraries that overlap communication are right, and a collective is waited for."""

from __future__ import annotations

import programs
import pytest

DDP_AND_FSDP = """\
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
layers = lambda: torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(4)]).cuda()
replicated, sharded = DistributedDataParallel(layers(), bucket_cap_mb=0.002), layers()
for layer in sharded:
    fully_shard(layer)
fully_shard(sharded)
for model in (replicated, sharded):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        model(torch.randn(4, 32, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
x = torch.ones(8, device="cuda")
work = dist.all_reduce(x, async_op=True)
{wait}
x.add(1)
work.wait()
dist.destroy_process_group()
"""

ZERO = """\
import deepspeed
import torch

deepspeed.init_distributed()
model = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(4)])
engine, *_ = deepspeed.initialize(
    model=model,
    optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3),
    config={
        "train_micro_batch_size_per_gpu": 2,
        "zero_allow_untested_optimizer": True,
        "zero_optimization": {
            "stage": {stage}, "overlap_comm": True, "contiguous_gradients": True, "reduce_bucket_size": 2048,
        },
        "bf16": {"enabled": True},
    },
)
for _ in range(3):
    x = torch.randn(2, 32, device=engine.device, dtype=torch.bfloat16)
    engine.backward(engine(x).float().square().mean())
    engine.step()
"""

PIPELINE = """\
import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
layer = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()).cuda()
stage = PipelineStage(layer, rank, 2, torch.device("cuda", rank))
schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=lambda output, target: (output - target).square().mean())
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(2):
    x, target = torch.randn(8, 8, device="cuda"), torch.randn(8, 8, device="cuda")
    schedule.step(x) if rank == 0 else schedule.step(target=target)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"""


def told(folder, text):
    """What two ranks of the program tell of streams."""
    (folder / "ranks.py").write_text(text)
    words = ["-m", "devsan", "run", "--gpus", "2", "--check", "streams", "-m", "torch.distributed.run"]
    done = programs.run([*words, "--nproc-per-node", "2", "ranks.py"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.long
@pytest.mark.parametrize("waits", [True, False])
def test_ddp_and_fsdp_are_right_and_a_collective_is_waited_for(tmp_path, waits):
    said = told(tmp_path, DDP_AND_FSDP.replace("{wait}", "work.wait()" if waits else "pass"))
    assert ("DV602" in said) is not waits
    assert waits or "NCCL's stream" in said


@pytest.mark.long  # DeepSpeed takes ten seconds to load
@pytest.mark.parametrize("stage", [pytest.param("2", marks=pytest.mark.rare), "3"])
def test_deepspeed_that_overlaps_communication_is_right(tmp_path, stage):
    pytest.importorskip("deepspeed", reason="deepspeed is not installed")
    assert "DV60" not in told(tmp_path, ZERO.replace("{stage}", stage))


@pytest.mark.long
def test_a_pipeline_is_right(tmp_path):
    assert "DV60" not in told(tmp_path, PIPELINE)
