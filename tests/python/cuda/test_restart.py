"""Threads that live across `stop()` and `start()`: what they remember of GPUs ends with those GPUs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from devsan import emulate


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=1) as executor:
        yield executor


def leave_the_last_gpu_current() -> None:
    last = torch.cuda.device_count() - 1
    torch.cuda.set_device(last)
    for device in range(last + 1):
        torch.cuda.set_stream(torch.cuda.Stream(device))
    torch.cuda.set_device(last)


def where_a_thread_stands() -> tuple[int, list[bool]]:
    """The current device, and for each GPU whether its default stream is current."""
    devices = range(torch.cuda.device_count())
    streams = [torch.cuda.current_stream(device) == torch.cuda.default_stream(device) for device in devices]
    return torch.cuda.current_device(), streams


@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_every_thread_starts_again_at_the_first_gpu(pool: ThreadPoolExecutor, gpus: int) -> None:
    with emulate(gpus=4):
        leave_the_last_gpu_current()
        pool.submit(leave_the_last_gpu_current).result()
        assert torch.cuda.current_device() == pool.submit(torch.cuda.current_device).result() == 3
    with emulate(gpus=gpus):
        assert where_a_thread_stands() == pool.submit(where_a_thread_stands).result() == (0, [True] * gpus)
        assert str(pool.submit(torch.ones, 1, device="cuda").result().device) == "cuda:0"
        pool.submit(lambda: torch.ones(8, device="cuda").record_stream(torch.cuda.current_stream())).result()


def devices_of_a_backward_pass(device: int) -> list[int]:
    """The current device of autograd's thread for `device`: in a hook, and when the pass is done."""
    seen: list[int] = []
    leaf = torch.ones(2, device=f"cuda:{device}", requires_grad=True)

    def hook(gradient: torch.Tensor) -> torch.Tensor:
        engine: Any = torch.autograd.Variable._execution_engine
        engine.queue_callback(lambda: seen.append(torch.cuda.current_device()))
        seen.append(torch.cuda.current_device())
        return gradient + torch.ones(2, device="cuda")

    product = leaf * 2
    product.register_hook(hook)
    product.sum().backward()
    assert leaf.grad is not None and str(leaf.grad.device) == f"cuda:{device}"
    return seen


@pytest.mark.parametrize("gpus", [[4, 2, 4], [2, 4, 1, 4]], ids=str)
def test_threads_of_autograd_keep_their_gpu(gpus: list[int]) -> None:
    for count in gpus:
        with emulate(gpus=count):
            first = [devices_of_a_backward_pass(device) for device in range(count)]
            assert first == [[device, first[device][1]] for device in range(count)]
            assert {after for _, after in first} <= set(range(count))
            assert first == [devices_of_a_backward_pass(device) for device in range(count)]


class Numbers(torch.utils.data.Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), float(index))


def test_a_pin_memory_thread_goes_on() -> None:
    """It set the device that was current when it began (torch/utils/data/_utils/pin_memory.py)."""
    with emulate(gpus=4):
        torch.cuda.set_device(3)
        loader = torch.utils.data.DataLoader(Numbers(), num_workers=1, prefetch_factor=2, pin_memory=True)
        batches = iter(loader)
        first = [next(batches) for _ in range(2)]
        settled: Any = batches
        while settled._data_queue.qsize() < 2:  # all that may be fetched ahead is pinned: the thread waits
            threading.Event().wait(0.01)
    with emulate(gpus=2):
        rest = list(batches)
        assert all(batch.is_pinned() for batch in rest[2:])
        assert torch.cat(first + rest)[:, 0].tolist() == [float(index) for index in range(12)]
        assert {str(batch.to("cuda").device) for batch in rest} == {"cuda:0"}
