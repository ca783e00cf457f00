"""A job with and without numbers: the same operators, placements, layouts, memory to the byte, and errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import small_jobs
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import devsan

JOBS = [each for name, each in vars(small_jobs).items() if inspect.isfunction(each) and not name.startswith("_")]
MEMORY = "64MiB"


class Journal(TorchDispatchMode):
    """What each operator returned, and where; and the memory of each GPU behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[Any, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        returned = func(*args, **(kwargs or {}))
        made = [
            (str(each.device), each.dtype, tuple(each.shape), each.stride(), each.storage_offset())
            for each in tree_leaves(returned)
            if isinstance(each, torch.Tensor)
        ]
        self.note(str(func), made)
        return returned

    def note(self, what: str, made: Any = ()) -> None:
        used = [torch.cuda.memory_allocated(index) for index in range(2)]
        peak = [torch.cuda.max_memory_allocated(index) for index in range(2)]
        reserved = [torch.cuda.memory_reserved(index) for index in range(2)]
        self.lines.append((what, made, used, peak, reserved))


def journal_of(job: Callable[[small_jobs.At], None], **options: Any) -> list[tuple[Any, ...]]:
    with devsan.emulate(gpus=2, memory=MEMORY, **options):
        torch.manual_seed(0)
        journal = Journal()
        with journal:
            try:
                job(journal.note)
            except Exception as error:
                journal.lines.append((type(error), str(error)))
        return journal.lines


@pytest.mark.parametrize("job", JOBS, ids=lambda each: each.__name__)
def test_the_same_but_for_the_numbers(job: FunctionType) -> None:
    with_numbers = journal_of(job)
    without = journal_of(job, full_size=True, real_below=0)
    assert len(with_numbers) > 1
    for number, (expected, got) in enumerate(zip(with_numbers, without, strict=False)):
        assert got == expected, f"line {number}"
    assert len(without) == len(with_numbers)
