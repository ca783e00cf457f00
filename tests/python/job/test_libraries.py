"""The launchers of libraries, unchanged: Lightning's, which needs the guardian; the others are in `make frameworks`."""

from __future__ import annotations

import signal

import pytest

LIGHTNING = """\
import torch, lightning
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.scale = torch.ones(1, device="cuda:0")
    def training_step(self, batch, number):
        return (self.layer(batch[0]) * self.scale).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
if __name__ == "__main__":
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16, 8)), batch_size=4)
    quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    ddp = lightning.pytorch.strategies.DDPStrategy(process_group_backend="gloo")
    lightning.Trainer(devices=2, accelerator="gpu", strategy=ddp, max_steps=2, **quiet).fit(Model(), data)
"""


@pytest.mark.long
def test_lightning_that_starts_its_ranks(job):
    """Rank 0 is the launcher, and Lightning ends it by SIGKILL once another rank has failed."""
    pytest.importorskip("lightning", reason="needs lightning (tools/requirements-test.txt)")
    job.write("train.py", LIGHTNING)
    done = job.devsan("run", "--gpus", "2", "train.py")
    assert done.returncode in (-signal.SIGKILL, 1)
    assert done.stderr.count("operands of aten::mul are on cuda:1 and cuda:0") == 1, done.stderr
    report = done.stderr[done.stderr.index("operands of aten::mul") :]
    assert "rank 1\n" in report
    # Rank 0 tells nothing where Lightning was sooner.
    killed = "Forcefully terminating all other processes" in done.stderr
    assert killed or "\ntrain.py, 2 ranks:\n  rank 1  failed at train.py:8" in report
    assert job.left(20) == ([], [])


ACCELERATE = """\
import os, torch
from accelerate import Accelerator
accelerator = Accelerator()
model = accelerator.prepare(torch.nn.Linear(8, 8))
scale = torch.ones(8, device="cuda:0")
os.write(1, f"{accelerator.num_processes} {torch.cuda.device_count()}\\n".encode())
(model(torch.randn(4, 8, device=accelerator.device)) * scale).sum().backward()
"""


@pytest.mark.frameworks
def test_accelerate_launch(job):
    job.write("train.py", ACCELERATE)
    words = ["accelerate", "launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", "0", "train.py"]
    done = job.devsan("run", "--gpus", "2", "--", *words)
    assert done.returncode == 1
    assert sorted(done.stdout.splitlines()) == ["2 2", "2 2"]
    assert done.stderr.count("operands of aten::mul are on cuda:1 and cuda:0") == 1, done.stderr
    assert job.left() == ([], [])


NOTEBOOK = """\
import os
from accelerate import notebook_launcher
def train():
    import torch
    from accelerate import Accelerator
    device = Accelerator().device
    print(torch.ones(8, device=device) * torch.ones(8, device="cuda:0"), flush=True)
notebook_launcher(train, num_processes=2, use_port=os.environ["MASTER_PORT"])
"""


@pytest.mark.frameworks
def test_notebook_launcher(job):
    """Its ranks are forked from a process that emulates GPUs and has not used them yet."""
    job.write("train.py", NOTEBOOK)
    done = job.devsan("run", "--gpus", "2", "train.py")
    assert done.returncode == 1
    assert "tensor([1., 1., 1., 1., 1., 1., 1., 1.], device='cuda:0')\n" in done.stdout
    assert done.stderr.count("operands of aten::mul are on cuda:1 and cuda:0") == 1, done.stderr
    assert "rank 1\n" in done.stderr
    assert job.left() == ([], [])


DEEPSPEED = """\
import os, torch, deepspeed
deepspeed.init_distributed("gloo")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
os.write(1, f"{rank} {torch.cuda.device_count()}\\n".encode())  # in one piece: both ranks write here
torch.ones(8, device="cuda") * torch.ones(8, device="cuda:0")
torch.distributed.barrier()
"""


@pytest.mark.frameworks
def test_deepspeed(job):
    job.write("train.py", DEEPSPEED)
    port = job.environment["MASTER_PORT"]
    done = job.devsan("run", "--gpus", "2", "--", "deepspeed", "--master_port", port, "--num_gpus", "2", "train.py")
    assert done.returncode != 0
    assert {"0 2", "1 2"} <= set(done.stdout.splitlines()), done.stdout
    assert done.stderr.count("operands of aten::mul are on cuda:1 and cuda:0") == 1, done.stderr
    assert job.left() == ([], [])
