"""All of torch.distributed's public calls that ranks make together, on every level of TORCH_DISTRIBUTED_DEBUG.

On INFO and DETAIL torch itself calls more: it hashes what objects become, and compares each call between the ranks over
a gloo group of its own.
"""

from __future__ import annotations

import inspect

import pytest
import torch.distributed as dist
from torch.distributed import distributed_c10d

JOB = "every_call.py"
RANKS = 2
LEVELS = ("OFF", "INFO", "DETAIL")

# Public functions by which no rank meets another: they ask, they name, or they begin and end the rest.
ALONE = {"init_process_group", "destroy_process_group", "supports_complex", "reduce_op", "record_comm"}
# Refused by name (docs/limits.md).
REFUSED = {"shrink_group"}


def calls() -> set[str]:
    public = {name for name in set(distributed_c10d.__all__) - ALONE - REFUSED if not name.startswith(("get_", "is_"))}
    return {name for name in public if inspect.isfunction(getattr(distributed_c10d, name, None))}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "call" in metafunc.fixturenames:
        metafunc.parametrize("call", sorted(calls()))
        metafunc.parametrize("outcomes", [{"TORCH_DISTRIBUTED_DEBUG": level} for level in LEVELS], indirect=True,
                             ids=LEVELS, scope="module")  # fmt: skip


@pytest.mark.long
def test_call(call: str, outcomes: dict[str, list[str]]) -> None:
    assert outcomes.get(f"check_{call}", "no check for it in jobs/every_call.py") == ["passed"] * RANKS


def test_the_list_is_torchs() -> None:
    """What is left out is there, and is what it is left out for."""
    assert {"all_reduce", "send_object_list", "batch_isend_irecv"} <= calls()
    assert all(hasattr(dist, name) for name in ALONE | REFUSED)
