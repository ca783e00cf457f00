"""A job with and without numbers: the same operators, placements, layouts, memory to the byte, and errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import small_jobs
import torch
from journal import Journal

import devsan

JOBS = [each for name, each in vars(small_jobs).items() if inspect.isfunction(each) and not name.startswith("_")]
MEMORY = "64MiB"


def journal_of(job: Callable[[small_jobs.At], None], **options: Any) -> list[tuple[Any, ...]]:
    with devsan.emulate(gpus=2, memory=MEMORY, **options):
        torch.manual_seed(0)
        journal = Journal(2)
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
