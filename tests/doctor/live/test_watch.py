"""In a session the first step of an optimizer is checked: what is silently wrong is said once, and nothing else."""

from __future__ import annotations

import copy
import gc
import os
import subprocess
import sys
import timeit
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch

import devsan
from devsan import active_options, session
from devsan.doctor.live import watch
from devsan.options import read_variable

STALE = """
import copy, torch

net = torch.nn.Linear(8, 2)
optimizer = torch.optim.AdamW(net.parameters())
net = copy.deepcopy(net)
for _ in range(3):
    net(torch.ones(4, 8)).sum().backward()
    optimizer.step()
print("trained")
"""


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A session without emulation, as of `devsan run --gpus real`.

    A look has a second, and sees so many models of the process: neither what else the machine does nor what other tests
    left alive is what is tested here.
    """
    monkeypatch.setattr(watch, "_SECONDS", 60.0)
    gc.collect()
    if active_options.current() is not None:
        pytest.skip("the tests themselves run in a session")
    watch._said.clear()
    session.begin(read_variable("gpus=real:lang=en"))
    yield
    session.end()


def train(net: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    for _ in range(3):
        net(torch.ones(4, 8)).sum().backward()
        optimizer.step()


def test_a_step_that_trains_nothing_is_told_once(real: None, capsys: pytest.CaptureFixture[str]) -> None:
    net = torch.nn.Linear(8, 2)
    optimizer = torch.optim.AdamW(net.parameters())
    net = copy.deepcopy(net)
    train(net, optimizer)
    out, err = capsys.readouterr()
    assert out == "" and err.count("error[DV432]: AdamW updates none of the 2 trainable parameters of Linear") == 1
    train(net, torch.optim.SGD(net.parameters(), lr=0.1))
    assert capsys.readouterr() == ("", "")


def test_ties_that_are_none_any_more_are_told(
    real: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:  # fmt: skip
    program = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(16, 8), torch.nn.Linear(8, 16, bias=False)
        self.head.weight = self.embed.weight

with torch.device("meta"):
    net = Net()
net.to_empty(device="cpu")
net.head(net.embed(torch.tensor([1]))).sum().backward()
torch.optim.SGD(net.parameters(), lr=0.1).step()
"""
    file = tmp_path / "train.py"
    file.write_text(program, encoding="utf-8")
    exec(compile(program, str(file), "exec"), {"__name__": "__main__", "__file__": str(file)})
    err = capsys.readouterr().err
    assert "warning[DV430]: `head.weight` and `embed.weight` are declared as tied, but are two tensors on cpu\n" in err
    assert "train.py:8:9\n" in err


@pytest.mark.parametrize("options", ["gpus=real", "gpus=real:format=off"])
def test_nothing_is_said_without_need(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    session.begin(read_variable(options))
    watch._said.clear()
    try:
        net, other = torch.nn.Linear(8, 2), torch.nn.Linear(8, 2)
        if options.endswith("off"):
            other = copy.deepcopy(net)
            train(other, torch.optim.SGD(net.parameters(), lr=0.1))
        else:  # a second model of the same shapes has an optimizer of its own, which has not stepped yet
            second = torch.optim.SGD(other.parameters(), lr=0.1)
            train(net, torch.optim.AdamW(net.parameters()))
            train(other, second)
            average = copy.deepcopy(net)
            train(net, torch.optim.SGD(net.parameters(), lr=0.1))
            del average
    finally:
        session.end()
    assert capsys.readouterr() == ("", "")


def test_no_later_step_is_looked_at(real: None) -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    optimizer.step()
    hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_pre_hooks  # type: ignore[attr-defined]
    hook = list(hooks.values())[-1]  # as torch calls it
    seconds = min(timeit.repeat(partial(hook, optimizer, (), {}), number=1000, repeat=5))
    assert seconds < 0.05, "expected less than 50 us for each step, got more"
    number = id(optimizer)
    del optimizer
    gc.collect()
    assert number not in watch._seen


def test_the_hook_goes_with_the_session() -> None:
    hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_pre_hooks  # type: ignore[attr-defined]
    before = dict(hooks)
    session.begin(read_variable("gpus=real"))
    assert len(hooks) == len(before) + 1
    session.end()
    assert dict(hooks) == before


@pytest.mark.long
def test_a_program_that_imports_torch_later_is_watched(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(STALE, encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if name not in ("DEVSAN_OPTIONS", "DEVSAN_JOB")}
    done = subprocess.run(
        [sys.executable, "-m", "devsan", "run", "--gpus", "real", "train.py"], cwd=tmp_path,
        env={**kept, "DEVSAN_LANG": "en"}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.count("DV432]") == 1 and "  --> train.py:5:13\n" in done.stderr, done.stderr


def test_a_failure_has_beside_its_report_what_else_is_wrong() -> None:
    accelerate = pytest.importorskip("accelerate", reason="the fault is one of accelerate, which is not installed")
    with devsan.emulate(gpus=2):
        parts = {"embed": torch.nn.Embedding(16, 8), "head": torch.nn.Linear(8, 16, bias=False)}
        net = torch.nn.ModuleDict(parts)
        parts["head"].weight = parts["embed"].weight
        net = accelerate.dispatch_model(net, {"embed": 0, "head": 1})
        try:
            net["head"](net["embed"](torch.tensor([1])))
        except RuntimeError as error:
            text = devsan.explain(error)
    report, found, rest = text.partition("more: devsan explain DV201\n")
    assert found and report.startswith("error[DV201]"), text
    assert "error[DV430]: `embed.weight` and `head.weight` are one tensor" in rest


def test_an_optimizer_that_has_not_stepped_when_the_program_fails_is_no_fault() -> None:
    """Gradients of an earlier training say nothing of the model that is trained now, nor does their absence in it."""
    with devsan.emulate(gpus=2):
        teacher = torch.nn.Linear(8, 2, device="cuda:0")
        teacher(torch.ones(4, 8, device="cuda:0")).sum().backward()
        student = copy.deepcopy(teacher).to("cuda:1")
        student.zero_grad()
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
        try:
            (student(torch.ones(4, 8, device="cuda:1")) - torch.ones(2, device="cuda:0")).sum().backward()
            optimizer.step()
        except RuntimeError as error:
            text = devsan.explain(error)
    assert text.startswith("error[DV") and "DV432" not in text, text


def test_of_a_rank_the_job_is_told(
    real: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from devsan.job import member

    told: list[object] = []
    monkeypatch.setattr(member, "is_silent", lambda: True)
    monkeypatch.setattr(member, "add", lambda report, explanation: told.append((report, explanation)))
    net = torch.nn.Linear(8, 2)
    model = copy.deepcopy(net)
    optimizer = torch.optim.AdamW(net.parameters())
    train(model, optimizer)
    assert capsys.readouterr() == ("", "")
    [(report, explanation)] = told  # type: ignore[misc]
    assert explanation is None and report.title.startswith("AdamW updates none of the 2 trainable parameters of Linear")
    assert report.code == "DV432" and report.fixes[0].confidence == "certain"
    assert report.sites[0].path == __file__
