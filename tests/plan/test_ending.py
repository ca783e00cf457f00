"""How a rehearsal ended."""

from __future__ import annotations

from typing import Any

import pytest

from devsan.fix.outcome import Outcome
from devsan.plan.ending import Ending, ending_of

_EXHAUSTED = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 1 has a total capacity of 1 GiB"
)
_CONVERSION = "RuntimeError: We encountered some issues during automatic conversion of the weights. For details look"
_APART = {
    "code": "DV104",
    "title": "`loss` is on cuda:1",
    "severity": "error",
    "sentence": "two devices, cuda:0 and cuda:1!",
}


def outcome(exit_code: int = 0, findings: list[dict[str, Any]] | None = None, **more: Any) -> Outcome:
    return Outcome(exit_code, more.pop("timed_out", False), findings or [], {}, {}, [], 1.0, **more)


@pytest.mark.parametrize(
    ("ended", "reason", "exhausted"),
    [
        (outcome(), "", None),
        (outcome(1, error=_EXHAUSTED), "cuda:1 is out of memory: 2.00 MiB requested", 1),
        (outcome(1, error="CUDA out of memory. GPU 1 has 2 MiB free"), "cuda:1 is out of memory", 1),
        (outcome(0, error=_EXHAUSTED), "", None),
        (outcome(1, [_APART], error="RuntimeError: two devices"), "DV104: `loss` is on cuda:1", None),
        (outcome(0, [_APART]), "DV104: `loss` is on cuda:1", None),
        (outcome(1, [{**_APART, "severity": "note"}], error="ValueError: no data"), "ValueError: no data", None),
        (outcome(1, error=_CONVERSION, output=f"model.layers.3 | CONVERSION\n{_EXHAUSTED}\n{_CONVERSION}"),
         "cuda:1 is out of memory: 2.00 MiB requested", 1),
        (outcome(1, error=_CONVERSION, output="KeyError: 'weight'"), _CONVERSION, None),
        (outcome(1, error="ValueError: no data", output=_EXHAUSTED), "ValueError: no data", None),  # it went on
        (outcome(-9), "exit code -9", None),
        (outcome(timed_out=True), "it takes too long", None),
    ],
)  # fmt: skip
def test_what_ended_it(ended: Outcome, reason: str, exhausted: int | None) -> None:
    found = ending_of(ended)
    assert (found.reason, found.exhausted) == (reason, exhausted)
    assert found.fails == (bool(reason) and exhausted is None)


def test_what_another_rank_printed_may_say_that_memory_was_short() -> None:
    found = ending_of(outcome(1, error="ChildFailedError"), f"[rank1]: {_EXHAUSTED}")
    assert found == Ending("cuda:1 is out of memory: 2.00 MiB requested", 1)
