"""DeepSpeed at full size: every stage steps, nothing is compiled, and what its ranks take beside GPUs is told."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import programs
import pytest

TRAIN = """\
import deepspeed, torch

LAYERS, WIDTH = 4, 1024

def train(dtype, stage, **offload):
    zero = {"stage": stage, **{f"offload_{what}": {"device": "cpu"} for what in offload}}
    config = {"train_micro_batch_size_per_gpu": 1, dtype: {"enabled": True}, "zero_optimization": zero,
              "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}, "gradient_clipping": 1.0}
    model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    engine, *_ = deepspeed.initialize(model=model, config=config, model_parameters=model.parameters())
    for _ in range(2):
        given = torch.randn(4, WIDTH, device=engine.device, dtype=engine.communication_data_type)
        engine.backward(engine(given).float().mean())
        engine.step()
    assert engine.skipped_steps == 0, (dtype, stage, offload)
    engine.destroy()

train("bf16", 1)
train("bf16", 2)
train("fp16", 3)
train("bf16", 2, optimizer=True)
train("bf16", 3, optimizer=True, param=True)
torch.distributed.destroy_process_group()
"""


@pytest.mark.long
def test_every_stage_steps(tmp_path: Path) -> None:
    pytest.importorskip("deepspeed")
    (tmp_path / "train.py").write_text(TRAIN)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    options = ["--gpus", "2:a100-40g", "--full-size", "-v"]
    done = programs.run(["-m", "devsan", "run", *options, "--", *torchrun, "train.py"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "DV605" not in done.stderr, done.stderr
    assert "ninja" not in done.stderr.lower()
    ranks = re.findall(r"rank (\d)  host ([\d.]+) MiB, ([\d.]+) MiB sent by collectives", done.stderr)
    assert [rank for rank, *_ in ranks] == ["0", "1"]
    assert all(float(host) > 16 and float(sent) > 16 for _, host, sent in ranks), ranks
