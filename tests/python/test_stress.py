"""Many threads, devices and processes at once: nothing is left behind, nothing hangs, exit codes are right."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from devsan import emulate

pytestmark = pytest.mark.stress

DEVICES = 4
THREADS = 8
OPERATIONS = 1_000_000
SECONDS = 60

Program = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def four_gpus() -> Iterator[None]:
    with emulate(gpus=DEVICES, memory="1GiB"):
        yield


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs a program in a process of its own; a hang fails the test."""

    def run(text: str) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(text), encoding="utf-8")
        return subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=SECONDS)

    return run


def operate(ordinal: int, count: int) -> None:
    """`count` small operations on a device, with tensors that live on, die, resize and cross to the next device."""
    here, there = f"cuda:{ordinal}", f"cuda:{(ordinal + 1) % DEVICES}"
    kept: list[torch.Tensor] = []
    rounds, per_round = divmod(count, 10)
    assert per_round == 0
    for i in range(rounds):
        made = torch.ones(1 + i % 64, 4, device=here)
        doubled = made + made
        doubled.mul_(0.5)
        view = doubled[0]
        moved = view.to(there)
        row = doubled.sum(0)
        torch.mul(row, 2.0, out=row)
        equal = row.view(2, 2).t() @ torch.eye(2, device=here)
        kept.append(equal if i % 2 else moved)
        if len(kept) > 32:
            kept.clear()


@pytest.mark.long
def test_a_million_operations_leave_every_counter_at_zero(four_gpus: None) -> None:
    errors: list[BaseException] = []

    def work(ordinal: int) -> None:
        try:
            operate(ordinal % DEVICES, OPERATIONS // THREADS)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    for ordinal in range(DEVICES):
        stats = torch.cuda.memory_stats(ordinal)
        left = {name: value for name, value in stats.items() if name.endswith(".current") and value}
        reserved = {name for name in left if name.startswith(("reserved_bytes", "segment", "inactive_split"))}
        assert set(left) == reserved, left
        assert stats["allocation.all.allocated"] == stats["allocation.all.freed"] > OPERATIONS // THREADS
        assert torch.cuda.memory_allocated(ordinal) == 0
    torch.cuda.empty_cache()
    assert [torch.cuda.memory_reserved(ordinal) for ordinal in range(DEVICES)] == [0] * DEVICES


def test_backward_passes_of_many_threads_agree_and_leave_nothing(four_gpus: None) -> None:
    torch.manual_seed(0)
    inputs, weights = torch.randn(16, 8), torch.randn(8, 8)
    expected = weights.clone().requires_grad_()
    torch.tanh(inputs @ expected).sum().backward()
    wrong: list[int] = []

    def work(ordinal: int) -> None:
        here = f"cuda:{ordinal % DEVICES}"
        for _ in range(50):
            weight = weights.to(here).requires_grad_()
            torch.tanh(inputs.to(here) @ weight).sum().backward()
            if not torch.equal(weight.grad.cpu(), expected.grad):
                wrong.append(ordinal)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    assert [torch.cuda.memory_allocated(ordinal) for ordinal in range(DEVICES)] == [0] * DEVICES


def test_a_fork_while_others_allocate_does_not_hang(program: Program) -> None:
    result = program(
        """
        import devsan, os, threading, torch

        devsan.emulate(gpus=2).start()
        stop = threading.Event()
        def allocate():
            while not stop.is_set():
                torch.ones(64, device="cuda:1") + 1
        workers = [threading.Thread(target=allocate) for _ in range(4)]
        for worker in workers:
            worker.start()
        kept = torch.ones(8, device="cuda:0")
        codes = []
        for _ in range(25):
            child = os.fork()
            if child == 0:
                total = torch.ones(100).sum().item()
                del kept
                os._exit(0 if total == 100 else 1)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        stop.set()
        for worker in workers:
            worker.join()
        assert codes == [0] * 25, codes
        """
    )
    assert result.returncode == 0, result.stderr


def test_a_data_loader_forks_workers_and_pins_what_they_make(program: Program) -> None:
    result = program(
        """
        import devsan, torch
        from torch.utils.data import DataLoader

        devsan.emulate(gpus=2).start()

        class Squares:
            def __len__(self):
                return 64
            def __getitem__(self, index):
                return torch.tensor(float(index)) ** 2

        total = torch.zeros((), device="cuda:1")
        for _ in range(2):
            for batch in DataLoader(Squares(), batch_size=8, num_workers=2, pin_memory=True):
                assert batch.is_pinned()
                total += batch.to("cuda:1", non_blocking=True).sum()
        assert total.item() == 2 * sum(i * i for i in range(64)), total
        """
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        pytest.param("", 0, id="the end of the script"),
        pytest.param("import sys; sys.exit(3)", 3, id="sys.exit"),
        pytest.param("import os; os._exit(4)", 4, id="os._exit"),
        pytest.param("raise RuntimeError('lost')", 1, id="an exception"),
        pytest.param("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15, id="a signal"),
    ],
)
@pytest.mark.long
def test_a_process_ends_with_live_threads_and_tensors(program: Program, ending: str, code: int) -> None:
    result = program(
        """
        import devsan, threading, time, torch

        devsan.emulate(gpus=2).start()

        class Holder:
            tensor = torch.ones(1000, device="cuda:0")

        weight = torch.ones(64, 64, device="cuda:1", requires_grad=True)
        (weight @ weight).sum().backward()
        holder = [Holder(), weight.grad]

        # It has used autograd and holds tensors. A daemon thread in the middle of torch when Python ends aborts the
        # process on plain CPU too: pthread_exit from a thread that waits for the GIL inside C++.
        def go_on():
            leaf = torch.ones(32, 32, device="cuda:0", requires_grad=True)
            (leaf @ leaf).sum().backward()
            time.sleep(1000)

        for _ in range(2):
            threading.Thread(target=go_on, daemon=True).start()
        time.sleep(0.3)
        """
        + "\n        "
        + ending
    )
    assert result.returncode == code, result.stderr


def test_stopping_and_starting_again_keeps_tensors_valid(program: Program) -> None:
    result = program(
        """
        import devsan, torch

        tensors = []
        for count in (1, 3, 2):
            with devsan.emulate(gpus=count):
                tensors.append(torch.full((4,), float(count), device=f"cuda:{count - 1}", requires_grad=True))
                (tensors[-1] * 2).sum().backward()
        assert [(tensor + 1).sum().item() for tensor in tensors] == [8, 16, 12]
        assert [tensor.grad.cpu().sum().item() for tensor in tensors] == [8, 8, 8]
        assert not torch.cuda.is_available()
        """
    )
    assert result.returncode == 0, result.stderr
