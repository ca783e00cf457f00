"""Processes that try operators side by side, each with GPUs of its own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sweep import Answer


def start(profile: str) -> None:
    """In each process: GPUs first, then torch's list, which reads what they can do."""
    import torch

    from devsan import emulate

    torch.set_num_threads(1)
    emulate(gpus=1, profile=profile).__enter__()
    from . import sweep  # noqa: F401


def operators() -> list[str]:
    from . import sweep

    return sweep.operators()


def answers(number: int) -> list[Answer]:
    from . import sweep

    return sweep.answers(number)


class Processes:
    """They import torch's list themselves, so they are no forks of a process that has it already."""

    def __init__(self, count: int, profile: str) -> None:
        self._pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=start, initargs=(profile,))

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def operators(self) -> list[str]:
        return self._pool.submit(operators).result()

    def answers(self, numbers: list[int]) -> Iterator[list[Answer]]:
        """In the order of `numbers`."""
        return self._pool.map(answers, numbers, chunksize=4)
