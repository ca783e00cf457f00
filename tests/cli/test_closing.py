"""The closing line of ``devsan run``."""

from __future__ import annotations

import re
import sys
from collections import Counter

import pytest
from recorded_runs import Programs

from devsan.cli import closing
from devsan.cli.fix import FixCommand
from devsan.cli.plan import PlanCommand
from devsan.cli.run import RunCommand
from devsan.options import NOT_OF_FIX, NOT_OF_PLAN
from devsan.run_files.tally import Tally

USES = """
import torch
a = torch.ones(1 << 20, device="cuda:0")
torch.cuda.reset_peak_memory_stats(0)
b = torch.ones(1 << 22, device="cuda:1")
del a
"""
WARNS = "import torch\ntorch.ones(2, device='cuda:0') + torch.ones(2, device='cuda:1')\n"
RANKS = """
import torch
import torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
dist.all_reduce(torch.ones(1 << 20, device="cuda"))
dist.destroy_process_group()
"""


@pytest.fixture
def programs(tmp_path):
    return Programs(tmp_path)


BACKWARD = """\
import torch

a = torch.ones(2, device="cuda", requires_grad=True)
(a * 2).sum().backward()
"""


def timeless(text: str) -> str:
    return re.sub(r"\d+(?:\.\d+)? (?:ms|s|min)\b", "TIME", text)


def test_the_line(programs):
    code, _, error = programs.run(USES, "--gpus", "4")
    assert code == 0
    assert timeless(error) == "devsan: 4 GPUs, no findings, peak cuda:0 4 MiB, cuda:1 16 MiB, TIME\n"
    _, _, error = programs.run(USES, "--gpus", "4", "--lang", "zh", PYTHONIOENCODING="utf-8")
    parts = ["devsan: 4 块 GPU", "未发现问题", "显存峰值 cuda:0 4 MiB", "cuda:1 16 MiB", "TIME\n"]
    assert timeless(error).split("\N{FULLWIDTH COMMA}") == parts


def test_what_devsan_does_at_the_end_is_not_counted(programs):
    code, _, error = programs.run(BACKWARD, "--gpus", "2")
    assert code == 0
    assert timeless(error) == "devsan: 2 GPUs, no findings, peak cuda:0 2 KiB, TIME\n"


def test_more_and_none(programs):
    _, _, error = programs.run(USES, "--gpus", "2", "-v")
    assert error.splitlines()[1:] == [
        "  cuda:0  peak 4 MiB (20 MiB reserved) of 79.2 GiB  NVIDIA A100-SXM4-80GB",
        "  cuda:1  peak 16 MiB (16 MiB reserved) of 79.2 GiB  NVIDIA A100-SXM4-80GB",
    ]
    for quiet in ("-q", "--format=off"):
        assert programs.run(USES, "--gpus", "2", quiet)[2] == ""


def test_no_line_where_the_program_fails(programs):
    assert programs.run(USES + "raise SystemExit(3)\n", "--gpus", "2")[0::2] == (3, "")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (WARNS, "devsan: to find and verify a fix, run: devsan fix --gpus 2 program.py\n"),
        ("import torch\ntorch.ones(1 << 30, device='cuda')\n",
         "devsan: to find what fits, run: devsan plan --gpus 2 --memory 1GiB program.py\n"),
    ],
)  # fmt: skip
def test_what_answers_an_error(programs, source, line):
    memory = ["--memory", "1GiB"] if "--memory" in line else []
    _, _, error = programs.run(source, "--gpus", "2", *memory, "-o", "x.dvs")
    assert error.endswith(line), error
    for silenced in (["-q"], ["--full-size"]) if "fix" in line else (["-q"],):
        _, _, error = programs.run(source, "--gpus", "2", *silenced, *memory)
        assert "devsan fix --gpus" not in error and "devsan plan --gpus" not in error


@pytest.mark.parametrize(
    ("codes", "is_asked"), [({"DV302"}, True), ({"DV304", "DV305"}, False), ({"DV101", "DV306"}, True)]
)
def test_a_fix_is_not_looked_for_where_no_change_could_be_tried(tmp_path, monkeypatch, capsys, codes, is_asked):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    monkeypatch.setattr(closing.tally, "result", lambda: Tally(Counter(error=1), codes))
    assert closing.Closing(RunCommand().read(["--gpus", "2", "train.py"])).finish(1) == 1
    assert ("devsan fix --gpus 2 train.py" in capsys.readouterr().err) is is_asked


@pytest.mark.parametrize(("command", "without"), [(FixCommand, NOT_OF_FIX), (PlanCommand, NOT_OF_PLAN)])
def test_another_command_takes_the_words_that_are_left(tmp_path, monkeypatch, command, without):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    given = [
        "--gpus",
        "2",
        "--memory=1GiB",
        "--policy",
        "warn",
        "--full-size",
        "-v",
        "-ox.dvs",
        "--fail-on=never",
        "--lang",
        "zh",
    ]
    asked = RunCommand().read([*given, "train.py", "--lr", "1"])
    name = command.name
    line = asked.repeated(name, without)
    assert line == f"devsan {name} --gpus 2 --memory 1GiB --lang zh train.py --lr 1"
    command().prepare(line.split()[2:])


def test_a_line_breaks_between_words(programs):
    code, _, error = programs.run(WARNS, "--policy=warn", "--fail-on=warning", CUDA_VISIBLE_DEVICES="1,0")
    assert code == 1
    assert timeless("".join(error.splitlines()[-2:]).replace(",  ", ", ")) == (
        "devsan: 2 GPUs, 1 finding, peak cuda:0 512 B, cuda:1 1.5 KiB, TIME, exit code 1 because of the findings"
    )
    assert all(len(line) <= 80 for line in error.splitlines()[-2:])


@pytest.mark.long
def test_one_line_for_a_job(programs):
    (programs.folder / "program.py").write_text(RANKS, encoding="utf-8")
    words = [sys.executable, "-m", "devsan", "run", "--gpus=2", "--", "torchrun", "--nproc-per-node=2", "program.py"]
    process = programs.start(words)
    _, error = process.communicate(timeout=240)
    assert process.returncode == 0, error
    (line,) = [line for line in error.splitlines() if line.startswith("devsan: ")]
    assert timeless(line) == "devsan: 2 GPUs, 2 ranks, no findings, peak cuda:0 4 MiB, cuda:1 4 MiB, TIME"
