"""What is kept of a tensor is read without the program's modes."""

from __future__ import annotations

import resource
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from devsan.numbers.digest import digest


class Calls(TorchFunctionMode):
    """The names of the functions that were called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(function.__name__)
        return function(*args, **(kwargs or {}))


def test_a_digest_makes_no_call_that_a_mode_sees():
    small, large = torch.nn.Parameter(torch.arange(2.0)), torch.ones(100, dtype=torch.complex64)
    with Calls() as calls:
        kept = [digest(small), digest(large)]
    assert calls.names == []
    assert [(each["whole"], each["values"][0]) for each in kept if each] == [(True, 0.0), (False, 100.0)]


def test_a_value_of_a_large_tensor_has_its_place():
    size = 3 * 2**18
    seen = []
    for place in (5, 2**18 + 5, 2 * 2**18 + 5, 2 * 2**18 + 6):
        large = torch.zeros(size)
        large[place], large[-1] = 3.0, 4.0
        kept = digest(large)
        assert kept is not None and kept["values"][:2] == [7.0, 5.0]
        seen.append(kept["values"][2])
    assert len(set(seen)) == len(seen)


def test_a_large_tensor_is_not_copied():
    large = torch.ones(2**24)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert digest(large) is not None
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # KiB
    assert grown < large.numel() * 4 / 1024
