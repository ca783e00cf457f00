"""What one run of the job came to: where it failed."""

from __future__ import annotations

from typing import Any

from devsan.fix.outcome import Outcome


def failed_at(*frames: tuple[str, int, str]) -> Outcome:
    stack = [
        {
            "path": path,
            "line": line,
            "column": 1,
            "end_line": line,
            "end_column": 9,
            "package": package,
            "function": "f",
        }
        for path, line, package in frames
    ]
    finding: dict[str, Any] = {"op": "aten::nll_loss_forward", "stack": stack, "operands": [], "also_at": []}
    return Outcome(1, False, [finding], {}, {}, [], 1.0)


def test_two_losses_of_one_module_of_torch_fail_at_two_places() -> None:
    inside = ("torch/nn/functional.py", 3555, "torch"), ("torch/nn/modules/loss.py", 1400, "torch")
    start, end = (failed_at(*inside, ("modeling.py", line, "transformers")) for line in (830, 831))
    assert start.line_of(()) == "aten::nll_loss_forward modeling.py:830"
    assert start.place_of(()) != end.place_of(())


def test_a_failure_in_torch_alone_has_a_place() -> None:
    assert (
        failed_at(("torch/optim/adam.py", 10, "torch")).line_of(()) == "aten::nll_loss_forward torch/optim/adam.py:10"
    )
