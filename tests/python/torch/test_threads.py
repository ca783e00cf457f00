"""What one thread does on an emulated GPU shows in no other: no number of its own, no switch of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch

from devsan.emulation import Emulation


@contextmanager
def beside(work: Callable[[], None]) -> Iterator[threading.Event]:
    """Runs `work` again and again in another thread; the event is set once it was done."""
    done, ended = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            while not ended.is_set():
                work()
                done.set()
        except BaseException as error:
            errors.append(error)
            done.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert done.wait(60)
        yield done
    finally:
        ended.set()
        thread.join()
    assert not errors


def test_a_network_that_drops_out_takes_no_numbers_of_the_cpu() -> None:
    network = torch.nn.LSTM(8, 8, num_layers=3, dropout=0.5, device="cuda:1")
    x = torch.ones(16, 4, 8, device="cuda:1")
    expected = torch.rand(3000, 64, generator=torch.Generator().manual_seed(7))
    with beside(lambda: network(x)):
        torch.default_generator.manual_seed(7)
        drawn = torch.stack([torch.rand(64) for _ in range(3000)])
    assert torch.equal(drawn, expected)


def test_sparse_tensors_are_checked_all_the_while() -> None:
    table = torch.nn.Embedding(64, 4, sparse=True, device="cuda:1")
    rows = torch.arange(32, device="cuda:1")

    def backward() -> None:  # makes its sparse gradient in autograd's thread, which does not hold Python's lock
        table.zero_grad()
        table(rows).sum().backward()

    with torch.sparse.check_sparse_tensor_invariants(True), beside(backward) as done:
        for _ in range(50):
            done.clear()
            while not done.is_set():
                assert torch.sparse.check_sparse_tensor_invariants.is_enabled()
        with pytest.raises(RuntimeError, match="found index 9"):
            torch.sparse_coo_tensor(torch.tensor([[9]]), torch.ones(1), (2,))


def test_memory_beside_tensors_is_freed_once() -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(1)
    kept: list[list[int]] = [[] for _ in range(8)]

    def work(mine: list[int]) -> None:
        for i in range(500):
            with torch.cuda.device(1):
                mine.append(torch.cuda.caching_allocator_alloc(512 * (1 + i % 3), 1))
            if i % 3:
                torch.cuda.caching_allocator_delete(mine.pop(0))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in kept]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = [address for mine in kept for address in mine]
    assert len(left) == len(set(left)) == 8 * 167
    for address in left:
        torch.cuda.caching_allocator_delete(address)
        with pytest.raises(RuntimeError, match="invalid device pointer"):
            torch.cuda.caching_allocator_delete(address)
    assert torch.cuda.memory_allocated(1) == before


def test_memory_beside_tensors_ends_with_its_gpus(two_gpus: Emulation) -> None:
    """The next GPUs hand out the same addresses: what was taken before is not theirs to free."""
    old = torch.cuda.caching_allocator_alloc(1024, 0)
    two_gpus.stop()
    two_gpus.start()
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        torch.cuda.caching_allocator_delete(old)
    fresh = torch.cuda.caching_allocator_alloc(1024, 0)
    assert torch.cuda.memory_allocated(0) == 1024
    torch.cuda.caching_allocator_delete(fresh)
    assert torch.cuda.memory_allocated(0) == 0
