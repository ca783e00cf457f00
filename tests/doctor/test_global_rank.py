"""A script that chooses its GPU by its rank in the whole job, on several machines."""

from __future__ import annotations

import pytest

HEAD = "import os\nimport torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\n"
SEVERAL = "torchrun --nnodes 2 --nproc_per_node=8 train.py"
TITLE = "the GPU is chosen by the rank in the whole job"


def told(setup, launch=SEVERAL):
    setup.launch = launch
    return [each for each in setup.findings() if each.title == TITLE]


@pytest.mark.parametrize(
    "body",
    [
        "torch.cuda.set_device(dist.get_rank())\n", "rank = dist.get_rank()\ntorch.cuda.set_device(rank)\n",
        'device = torch.device("cuda", dist.get_rank())\n', "model.to(f'cuda:{dist.get_rank()}')\n",
        "rank = int(os.environ['RANK'])\nmodel = DDP(model, device_ids=[rank])\n",
    ],
)  # fmt: skip
def test_no_gpu_of_the_second_machine_has_such_a_number(empty, body):
    empty.write("train.py", HEAD + body)
    (found,) = told(empty)
    assert (found.code, found.severity, found.place.line) == ("DV407", "error", 4 + body.count("\n"))
    assert "The ranks of the second one begin with 8." in found.evidence
    assert found.fixes[0].text == 'choose it by the rank on the machine: int(os.environ["LOCAL_RANK"])'


@pytest.mark.parametrize(
    "body",
    [
        "torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())\n", "print(dist.get_rank())\n",
        "rank = dist.get_rank()\nrank = rank % 8\ntorch.cuda.set_device(rank)\n",
        "def main(rank):\n    torch.cuda.set_device(rank)\nrank = dist.get_rank()\nmain(rank % 8)\n",
        "rank = int(os.environ.get('LOCAL_RANK', os.environ['RANK']))\ntorch.cuda.set_device(rank)\n",
        "torch.cuda.set_device(dist.get_rank(on_this_machine))\n",
        "rank = dist.get_rank()\nmodel.to(f'cuda:{rank % torch.cuda.device_count()}')\n",
        "rank = dist.get_rank()\nDDP(model, device_ids=[rank % torch.cuda.device_count()])\n",
        "rank = dist.get_rank()\nx.to(torch.float32, non_blocking=rank)\n",
        "torch.cuda.set_device(mesh.get_rank())\n", "torch.cuda.set_device(int(int(os.environ['RANK']) % 8))\n",
        "from job import rank\nif fresh:\n    rank = dist.get_rank()\ntorch.cuda.set_device(rank)\n",
    ],
)  # fmt: skip
def test_what_may_be_the_rank_on_the_machine(empty, body):
    empty.write("train.py", HEAD + body)
    assert told(empty) == []


@pytest.mark.parametrize("launch", ["torchrun --nproc_per_node=8 train.py", SEVERAL.replace("train", "other")])
def test_one_machine_or_another_script(empty, launch):
    empty.write("train.py", HEAD + "torch.cuda.set_device(dist.get_rank())\n")
    assert told(empty, launch) == []
