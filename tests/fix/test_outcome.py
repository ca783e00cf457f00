"""What one run of the job came to: where it failed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devsan.fix.outcome import Outcome, _crosses, read_outcome


def failed_at(*frames: tuple[str, int, str]) -> Outcome:
    stack = [
        {
            "path": path,
            "line": line,
            "column": 1,
            "end_line": line,
            "end_column": 9,
            "package": package,
            "function": "f",
        }
        for path, line, package in frames
    ]
    finding: dict[str, Any] = {
        "name": "",
        "op": "aten::nll_loss_forward",
        "stack": stack,
        "operands": [],
        "also_at": [],
        "rank": "",
    }
    return Outcome(1, False, [finding], {}, {}, [], 1.0)


def test_two_losses_of_one_module_of_torch_fail_at_two_places() -> None:
    inside = ("torch/nn/functional.py", 3555, "torch"), ("torch/nn/modules/loss.py", 1400, "torch")
    start, end = (failed_at(*inside, ("modeling.py", line, "transformers")) for line in (830, 831))
    assert start.line_of(()) == "aten::nll_loss_forward modeling.py:830"
    assert start.place_of(()) != end.place_of(())


def test_a_failure_in_torch_alone_has_a_place() -> None:
    assert (
        failed_at(("torch/optim/adam.py", 10, "torch")).line_of(()) == "aten::nll_loss_forward torch/optim/adam.py:10"
    )


@pytest.mark.parametrize(
    "held, crosses",
    [
        ({0: {"cuda:0": 9, "cuda:1": 0}, 1: {"cuda:0": 0, "cuda:1": 9}}, False),
        ({0: {"cuda:0": 9, "cuda:1": 0}, 1: {"cuda:0": 1, "cuda:1": 9}}, True),
        ({0: {"cuda:0": 9, "cuda:1": 8}, 1: {"cuda:2": 9, "cuda:3": 8}}, False),  # a model over two GPUs each
        ({0: {"cuda:0": 9}, 1: {"cuda:0": 9}}, False),  # all on one, or each sees its own alone
        ({0: {"cuda:0": 9, "cuda:1": 3}}, False),
        ({0: {}, 1: {"cuda:0": 9}}, False),  # a launcher beside its rank
    ],
)
def test_whether_ranks_keep_to_their_own_gpus(held: dict[int, dict[str, int]], crosses: bool) -> None:
    assert _crosses(held) is crosses


def test_the_error_of_a_rank_is_its_exception(tmp_path: Path) -> None:
    tmp_path.joinpath("err").write_text(
        "[rank0]: Traceback (most recent call last):\n[rank0]: torch.distributed.DistBackendError: NCCL error\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n============\n"
        "Root Cause (first observed failure):\n"
        "[0]:\n  time : 2026\n",
        encoding="utf-8",
    )
    assert read_outcome(tmp_path, 1, False, 1.0).error == "torch.distributed.DistBackendError: NCCL error"


def test_a_gpu_holds_weights_of_a_model_if_it_holds_a_tenth() -> None:
    def module(device: str, size: int) -> dict[str, Any]:
        return {"tensors": [{"device": device, "bytes": size}]}

    split = {
        "wrappers": [],
        "modules": [module("cuda:0", 600), module("cuda:1", 300), module("cuda:2", 50), module("cpu", 50)],
    }
    again = {"wrappers": [], "modules": [module("cuda:1", 700), module("cuda:0", 100)]}
    replica = {"wrappers": ["torch.nn.DataParallel", "replica"], "modules": [module("cuda:3", 900)]}
    run = Outcome(0, False, (), {}, {}, (), 1.0, models=(split, again, replica))
    assert run.weights == {"cuda:0": 600, "cuda:1": 700}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("def f(:\n", "train.py:1"),
        ("import json\n\njson.loads('{')\n", "train.py:3"),
        ("raise SystemExit('no data')\n", ""),
    ],
)
def test_another_failure_has_the_place_of_the_users_own_line(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    run = subprocess.run([sys.executable, str(path)], capture_output=True, timeout=60, check=False)
    tmp_path.joinpath("err").write_bytes(run.stderr)
    outcome = read_outcome(tmp_path, run.returncode, False, 1.0)
    assert outcome.error_place == place
    assert outcome.failure == (f"{outcome.error} ({place})" if place else "no data")


def test_what_the_ranks_show_together_is_reported(tmp_path: Path) -> None:
    own, other = tmp_path / "train.py", tmp_path / "model.py"
    for file in (own, other):
        file.touch()
    failed = failed_at((str(own), 3, ""))
    here, elsewhere = ({"stack": [{"path": str(path), "line": 3}], "rank": ""} for path in (own, other))
    assert replace(failed, of_job=[elsewhere, here]).reported is here
    assert replace(failed, of_job=[elsewhere]).reported is failed.findings[0]
    assert replace(failed, findings=[]).reported is None
