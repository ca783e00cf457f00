"""Device errors that the program catches are told at its end, and only those."""

from __future__ import annotations

from pathlib import Path

import programs
import pytest

CATCHES = """\
import torch

layer = torch.nn.Linear(4, 4).to("cuda:1")
for batch in range(3):
    try:
        layer(torch.ones(2, 4, device="cuda:0"))
    except RuntimeError:
        continue
"""
TOLD = (
    "devsan: the program caught device errors at 1 place; --policy warn explains them\n"
    "    train.py:6:9  operands of aten::addmm are on cuda:1 and cuda:0, 3 times\n"
)


def run(tmp_path: Path, text: str, *options: str) -> tuple[int, str]:
    (tmp_path / "train.py").write_text(text)
    ended = programs.run(["-m", "devsan", "run", "--gpus", "2", *options, "train.py"], cwd=tmp_path)
    return ended.returncode, ended.stderr


def test_an_error_that_is_caught_and_dropped_is_told_at_the_end(tmp_path):
    code, told = run(tmp_path, CATCHES)
    assert code == 0 and TOLD in told


def test_an_error_that_ends_the_program_is_reported_and_not_told_as_caught(tmp_path):
    code, told = run(tmp_path, CATCHES.replace("continue", "raise"))
    assert code == 1 and "error[DV" in told and "caught" not in told


def test_the_caught_error_before_the_one_that_ends_the_program_is_told(tmp_path):
    code, told = run(tmp_path, CATCHES + 'layer.weight + torch.ones(4, device="cuda:0")\n')
    assert code == 1 and "operands of aten::add" in told and TOLD in told


@pytest.mark.parametrize("explained", ["devsan.findings()", "devsan.explain()"])
def test_an_error_that_the_program_had_explained_is_not_told(tmp_path, explained):
    code, told = run(tmp_path, "import devsan\n" + CATCHES.replace("continue", explained))
    assert code == 0 and "caught" not in told


@pytest.mark.parametrize("options", [("--format", "off"), ("--policy", "warn")])
def test_nothing_is_told_as_caught_where_nothing_is_to_be_told_or_nothing_raises(tmp_path, options):
    code, told = run(tmp_path, CATCHES, *options)
    assert code == 0 and "caught" not in told


def test_an_error_of_another_kind_is_not_told(tmp_path):
    code, told = run(tmp_path, CATCHES.replace('device="cuda:0"', 'dtype=torch.half, device="cuda:1"'))
    assert code == 0 and "caught" not in told


def test_an_error_of_a_backward_pass_is_told_where_the_program_called_it(tmp_path):
    code, told = run(tmp_path, """\
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        return values * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.ones(3, device="cuda:1")


values = torch.ones(3, device="cuda:0", requires_grad=True)
try:
    Scale.apply(values).sum().backward()
except RuntimeError:
    pass
""")  # fmt: skip
    assert code == 0 and "train.py:11:16  operands of aten::mul" in told


def test_an_error_on_a_thread_of_autograd_is_told_where_the_program_waits(tmp_path):
    code, told = run(tmp_path, """\
import torch

x, w = (torch.ones(3, device="cuda:0", requires_grad=True) for _ in range(2))
loss = (x * w).sum()
w.data = w.data.to("cuda:1")
try:
    loss.backward()
except RuntimeError:
    pass
""")  # fmt: skip
    assert code == 0 and "could not be noted" not in told and "train.py:7:5  operands of aten::mul" in told


@pytest.mark.long
def test_the_ranks_of_a_job_tell_one_list(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, torch\n" + 'torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))\n' + CATCHES
    )
    ended = programs.run(
        ["-m", "devsan", "run", "--gpus", "2", "--", "torchrun", "--nproc_per_node=2", "train.py"], cwd=tmp_path
    )
    assert ended.returncode == 0
    assert ended.stderr.count("caught device errors") == 1 and ", 3 times in ranks 0 and 1" in ended.stderr
