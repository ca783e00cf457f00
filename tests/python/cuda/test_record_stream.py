"""Memory that another stream has used: it is kept until the host knows that the stream is done with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from devsan import emulate

BYTES = 32 * 2**20


@pytest.fixture(autouse=True)
def gpus():
    with emulate(gpus=2):
        yield


def used(side: torch.cuda.Stream) -> torch.Tensor:
    """Makes a tensor, uses it on `side` and frees it; returns what was made of it there."""
    tensor = torch.empty(BYTES, dtype=torch.uint8, device="cuda")
    with torch.cuda.stream(side):
        result = tensor[:4] + 1
    tensor.record_stream(side)
    return result


def is_kept() -> bool:
    """Whether memory that no tensor holds is still waited for, as an allocation finds."""
    torch.empty(4, device="cuda")
    stats = torch.cuda.memory_stats()
    return stats["active_bytes.all.current"] - stats["allocated_bytes.all.current"] >= BYTES


def by_a_later_event(side: torch.cuda.Stream, result: torch.Tensor) -> None:
    event = torch.cuda.Event()
    event.record(side)
    torch.cuda.current_stream().wait_event(event)
    torch.cuda.current_stream().synchronize()


def by_a_copy(side: torch.cuda.Stream, result: torch.Tensor) -> None:
    with torch.cuda.stream(side):
        result.cpu()


def by_a_copy_to_pageable_memory(side: torch.cuda.Stream, result: torch.Tensor) -> None:
    with torch.cuda.stream(side):
        torch.empty(result.shape, dtype=result.dtype).copy_(result, non_blocking=True)


def by_a_number(side: torch.cuda.Stream, result: torch.Tensor) -> None:
    with torch.cuda.stream(side):
        result.sum().item()


def by_a_size(side: torch.cuda.Stream, result: torch.Tensor) -> None:
    with torch.cuda.stream(side):
        result.nonzero()


WAITS: dict[str, Callable[[torch.cuda.Stream, torch.Tensor], object]] = {
    "synchronize": lambda side, result: torch.cuda.synchronize(),
    "stream": lambda side, result: side.synchronize(),
    "event": lambda side, result: side.record_event().synchronize(),
    "query": lambda side, result: side.record_event().query(),
    "empty_cache": lambda side, result: torch.cuda.empty_cache(),
    "later_event": by_a_later_event,
    "copy": by_a_copy,
    "pageable": by_a_copy_to_pageable_memory,
    "number": by_a_number,
    "size": by_a_size,
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_it_is_free_when_the_host_has_waited(wait: Callable[[torch.cuda.Stream, torch.Tensor], object]) -> None:
    side = torch.cuda.Stream()
    result = used(side)
    assert is_kept()
    wait(side, result)
    assert not is_kept()


def other_gpu(side: torch.cuda.Stream) -> None:
    torch.cuda.synchronize(1)


def event_before_the_use(side: torch.cuda.Stream) -> None:
    EVENTS[0].synchronize()


def copy_to_pinned_memory(side: torch.cuda.Stream) -> None:
    with torch.cuda.stream(side):
        torch.empty(4, pin_memory=True).copy_(torch.ones(4, device="cuda"), non_blocking=True)


EVENTS: list[torch.cuda.Event] = []


@pytest.mark.parametrize("wait", [other_gpu, event_before_the_use, copy_to_pinned_memory])
def test_what_is_no_wait_for_its_stream_does_not_free_it(wait: Callable[[torch.cuda.Stream], None]) -> None:
    side = torch.cuda.Stream()
    used(side)  # the order is followed from the first use on
    EVENTS[:] = [side.record_event()]
    used(side)
    wait(side)
    assert is_kept()


def test_a_full_queue_of_launches_frees_it() -> None:
    used(torch.cuda.Stream())
    assert is_kept()
    for _ in range(1100):
        torch.empty(4, device="cuda")
    assert not is_kept()
