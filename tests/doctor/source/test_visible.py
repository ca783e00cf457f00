"""CUDA_VISIBLE_DEVICES, set in every way and to every kind of value: what is known goes on, what is not is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from devsan.doctor.source import check
from devsan.doctor.source.visible import UNSET, Visible
from tests.doctor.conftest import SetUp

# What is written, by whom the value is the same: "all" ranks, "each" has its own, "" is not known.
VALUES = {
    '"0,1"': "all",
    '",".join(["0", "1"])': "all",
    '",".join(str(each) for each in range(2))': "all",
    '",".join(map(str, [0, 1]))': "all",
    'f"{0},{1}"': "all",
    '"%d,%d" % (0, 1)': "all",
    '"{},{}".format(0, 1)': "all",
    "GPUS": "all",
    "args.gpus": "all",
    'f"{args.first},{args.second}"': "all",
    'os.environ["LOCAL_RANK"]': "each",
    "str(local_rank)": "each",
    'f"{args.local_rank}"': "each",
    "str(int(os.environ.get('RANK', 0)) % 8)": "each",
    "pick()": "",
    "str(number)": "",
}
FORMS = {
    "assigned": 'os.environ["CUDA_VISIBLE_DEVICES"] = {}',
    "by a name": 'from os import environ\nenviron["CUDA_VISIBLE_DEVICES"] = {}',
    "setdefault": 'os.environ.setdefault("CUDA_VISIBLE_DEVICES", {})',
    "updated": 'os.environ.update({{"CUDA_VISIBLE_DEVICES": {}}})',
    "updated by name": "os.environ.update(CUDA_VISIBLE_DEVICES={})",
    "putenv": 'os.putenv("CUDA_VISIBLE_DEVICES", {})',
    "in a function": 'def choose(value):\n    os.environ["CUDA_VISIBLE_DEVICES"] = value\n\n\nchoose({})',
    "in a branch": 'if args.choose:\n    os.environ["CUDA_VISIBLE_DEVICES"] = {0}\nelse:\n'
                   '    os.environ["CUDA_VISIBLE_DEVICES"] = {0}',
}  # fmt: skip
HEAD = """\
import argparse
import os

from helpers import number, pick

GPUS = "0,1"
local_rank = int(os.environ["LOCAL_RANK"])
parser = argparse.ArgumentParser()
for name in ("gpus", "first", "second", "choose", "local_rank"):
    parser.add_argument(f"--{name}")
args = parser.parse_args()
"""
TAILS = {
    "DV204": """
import torch
from transformers import AutoModelForCausalLM

torch.cuda.set_device(local_rank)
torch.distributed.init_process_group("nccl")
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto")
""",
    "DV115": """
import torch

torch.distributed.init_process_group("nccl")
model = torch.nn.Linear(4, 4).cuda()
""",
    "DV301": """
import torch

torch.distributed.init_process_group("nccl")
model = torch.nn.Linear(4, 4).to("cuda:0")
""",
}


def found(folder: Path, text: str, launch: object = None) -> set[str]:
    file = folder / "train.py"
    file.write_text(text, encoding="utf-8")
    result = check([file], launch, edits=False)
    assert result.notes == []
    return {finding.code for finding in result.findings}


@pytest.mark.parametrize("code", TAILS)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_ranks_that_see_the_same_gpus_are_checked(tmp_path: Path, form: str, value: str, code: str) -> None:
    known = VALUES[value]
    if known != "all" and "value" in form:
        known = ""  # the function does not say whose number it is given
    expected = {code} if known == "all" else set()
    if "value" in form and "args" in value:
        expected = set()  # whose option it is does not go along with the value
    assert found(tmp_path, HEAD + form.format(value) + TAILS[code]) == expected


@pytest.mark.parametrize("tail", TAILS)
def test_what_is_set_too_late_changes_nothing(tmp_path: Path, tail: str) -> None:
    late = 'os.environ["CUDA_VISIBLE_DEVICES"] = str(local_rank)\n'
    assert found(tmp_path, HEAD + TAILS[tail] + late) == {tail, "DV450"}


@pytest.mark.parametrize(
    ("text", "beyond"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"\nx = torch.zeros(2, device="cuda:2")', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"\nx = torch.zeros(2, device="cuda:1")', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"\ntorch.cuda.set_device(3)', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"\nmodel = torch.nn.Linear(2, 2).cuda(3)', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"\n'
         'model = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0, 2])', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"\n'
         'model = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0, 1])', False),
        ('from transformers import AutoModelForCausalLM\nos.environ["CUDA_VISIBLE_DEVICES"] = "2"\n'
         'model = AutoModelForCausalLM.from_pretrained("gpt2", device_map={"transformer": 0, "lm_head": 1})', True),
        ('from transformers import AutoModelForCausalLM\nos.environ["CUDA_VISIBLE_DEVICES"] = "2,5"\n'
         'model = AutoModelForCausalLM.from_pretrained("gpt2", device_map={"transformer": 0, "lm_head": 1})', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = ""\nmodel = torch.nn.Linear(2, 2).cuda()', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,0"\nx = torch.zeros(2, device="cuda:0")', True),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "GPU-1f,GPU-2e"\nx = torch.zeros(2, device="cuda:1")', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = pick()\nx = torch.zeros(2, device="cuda:5")', False),
        ('if pick():\n    os.environ["CUDA_VISIBLE_DEVICES"] = "0"\nx = torch.zeros(2, device="cuda:5")', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0"\ndel os.environ["CUDA_VISIBLE_DEVICES"]\n'
         'x = torch.zeros(2, device="cuda:5")', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0"\nos.environ.pop("CUDA_VISIBLE_DEVICES", None)\n'
         'x = torch.zeros(2, device="cuda:5")', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\nlast = torch.cuda.device_count() - 1\n'
         'x = torch.zeros(2, device=f"cuda:{last}")', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "4,5"\n'
         'many = len(os.environ["CUDA_VISIBLE_DEVICES"].split(","))\n'
         'x = [torch.zeros(2, device=f"cuda:{each}") for each in range(many)]', False),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "4,5"\n'
         'gpus = os.environ["CUDA_VISIBLE_DEVICES"].split(",")\n'
         'x = torch.zeros(2, device=f"cuda:{gpus[0]}")', True),
    ],
)  # fmt: skip
def test_gpus_are_numbered_anew(tmp_path: Path, text: str, beyond: bool) -> None:
    head = "import os\nimport torch\nfrom helpers import pick\n"
    assert found(tmp_path, f"{head}{text}\n") == ({"DV406"} if beyond else set())


RANKS = """\
import os

{}
import torch

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
torch.distributed.init_process_group("nccl")
"""


@pytest.mark.parametrize("with_machine", [True, False])
@pytest.mark.parametrize(
    ("command", "line", "place"),
    [
        ("torchrun --nproc_per_node=4 train.py", 'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', 3),
        ("torchrun --nproc_per_node=4 train.py", 'os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0,1")', 3),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 train.py", "", 0),
        ("env CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 train.py", "", 0),
        ("env -u X CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 train.py", "", 0),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 train.py",
         'os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0,1,2,3")', 3),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node=4 train.py",
         'os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"', 3),
        ("accelerate launch --num_processes 4 train.py", 'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', 3),
        ("deepspeed --num_gpus=4 train.py", 'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', 3),
        ("accelerate launch --num_processes 4 --gpu_ids 1,2 train.py", "", 0),
        ("accelerate launch --num_processes 4 --gpu_ids all train.py", "", None),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 4 train.py", "", None),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --include localhost:0,1,2,3 train.py", "", None),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 train.py", "", None),
        ("torchrun --nproc_per_node=2 train.py", 'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', None),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 train.py",
         'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1,2,3"', None),
        ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 train.py",
         'os.environ.pop("CUDA_VISIBLE_DEVICES", None)', None),
        ("torchrun --nproc_per_node=4 train.py", 'os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["GPUS"]', None),
        ("torchrun --nproc_per_node=4 train.py",
         'os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["LOCAL_RANK"]', None),
        ("torchrun --nproc_per_node=4 train.py", "", None),
    ],
)  # fmt: skip
def test_more_ranks_than_they_see(empty: SetUp, command: str, line: str, place: int | None, with_machine: bool) -> None:
    empty.launch = command
    empty.write("train.py", RANKS.format(line))
    if not with_machine:
        empty.driver = replace(empty.driver, state="absent", gpus=())
    findings = [each for each in empty.findings() if each.code == "DV407" and each.severity == "error"]
    assert len(findings) == (place is not None), [each.title for each in empty.findings()]
    for finding in findings:
        assert (finding.place.line if finding.place else 0) == place
        assert "4 ranks" in finding.title and "2 of its GPUs are visible" in finding.title


def test_deepspeeds_own_options_win_over_the_environment(empty: SetUp) -> None:
    empty.launch = "env CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus=4 train.py"
    empty.write("train.py", RANKS.format(""))
    assert [each.code for each in empty.findings()] == ["DV406"]  # it is ignored, and all four GPUs are used


@pytest.mark.parametrize(
    ("text", "count"),
    [("0,1", 2), ("", 0), ("-1", 0), ("0,-1,2", 1), ("1,1", 0), ("GPU-a,GPU-b,GPU-c", 3), ("0,x,2", 1), (None, None)],
)
def test_how_many_a_value_names(text: str | None, count: int | None) -> None:
    assert Visible(text, True).count == count


def test_two_paths_meet() -> None:
    one, other = Visible("0", True), Visible("1", True)
    assert one.joined(one) == one
    assert one.joined(other) == Visible(None, True) == one.joined(UNSET)
    assert one.joined(Visible(None, False)).shared is None
