"""A script that chooses its GPU by --local_rank under a launcher that does not pass it."""

from __future__ import annotations

import pytest

HEAD = """\
import argparse, os
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
p = argparse.ArgumentParser()
p.add_argument("--local_rank", type=int, default=-1)
args = p.parse_args()
"""
DEVICE = "torch.cuda.set_device(args.local_rank)\n"


def told(setup):
    return [str(each.title) for each in setup.findings() if each.code == "DV301"]


@pytest.mark.parametrize(
    "body",
    [
        DEVICE, 'device = torch.device("cuda", args.local_rank)\n',
        'device = torch.device(f"cuda:{args.local_rank}")\n',
        "model = DDP(model.cuda(), device_ids=[args.local_rank])\n", "model.to(args.local_rank)\n",
        "def main(args):\n    torch.cuda.set_device(args.local_rank)\nmain(args)\n",
        "if args.local_rank != -1:\n    torch.cuda.set_device(args.local_rank)\n",
    ],
)  # fmt: skip
def test_it_is_the_default_in_every_rank(empty, body):
    empty.write("train.py", HEAD + body)
    (found,) = (each for each in empty.findings() if each.code == "DV301")
    assert found.title == "--local_rank is -1 in every rank: torchrun does not pass it"
    assert found.place.line == 5 and found.see_also[0].line >= 7
    assert found.fixes[0].text == 'write default=int(os.environ.get("LOCAL_RANK", 0))'


@pytest.mark.parametrize(
    "body",
    [
        'args.local_rank = int(os.environ["LOCAL_RANK"])\n' + DEVICE,
        'rank = int(os.getenv("LOCAL_RANK", args.local_rank))\ntorch.cuda.set_device(rank)\n' + DEVICE,
        "import utils\nutils.init_distributed_mode(args)\n" + DEVICE, "from mine import setup\nsetup(args)\n" + DEVICE,
        "args.local_rank = torch.distributed.get_rank() % 8\n" + DEVICE, "print(args.local_rank)\n",
        "if args.local_rank == 0:\n    print('first')\ntorch.cuda.set_device(torch.distributed.get_rank())\n",
        "torch.cuda.set_device(torch.distributed.get_rank() % 8)\nmodel.to(args.local_rank)\n",
        "setattr(args, 'local_rank', 1)\n" + DEVICE, "import deepspeed\ndeepspeed.initialize(args=args)\n" + DEVICE,
    ],
)  # fmt: skip
def test_a_script_that_may_know_its_rank(empty, body):
    empty.write("train.py", HEAD + body)
    assert told(empty) == []


@pytest.mark.parametrize(
    "launch",
    ["deepspeed --num_gpus 4 train.py", "python train.py", "torchrun train.py", "torchrun --nproc_per_node=1 train.py",
     "python -m torch.distributed.launch --nproc_per_node=4 train.py", "torchrun --nproc_per_node=4 other.py",
     "torchrun --nproc_per_node=4 train.py --local_rank 1"],
)  # fmt: skip
def test_a_launcher_that_passes_it_or_starts_one_rank(empty, launch):
    empty.launch = launch
    empty.write("train.py", HEAD + DEVICE)
    assert told(empty) == []


def test_the_default_reads_the_variable(empty):
    default = HEAD.replace("default=-1", 'default=int(os.environ.get("LOCAL_RANK", 0))')
    empty.write("train.py", default + DEVICE)
    assert told(empty) == []
    empty.write("train.py", HEAD.replace(", default=-1", "") + DEVICE)
    assert told(empty) == []


def test_a_machine_of_one_gpu(empty):
    empty.launch = "torchrun --nproc_per_node=gpu train.py"
    empty.write("train.py", HEAD + DEVICE)
    assert told(empty) != []
    empty.environment["CUDA_VISIBLE_DEVICES"] = "0"
    assert told(empty) == []
