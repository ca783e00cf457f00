"""Whether a program that ends computes what it computes on one GPU.

NOTE [Programs that end] A wrong placement need not fail. A parameter that moved became a tensor that no optimizer
holds; gradients were summed into the copy that a move made. On one GPU, where every tensor begins and none moves, each
of these moves does nothing, and the numbers are others. So a program in which nothing fails runs once more like that.
Layers that look at a part of the batch (BatchNorm under DataParallel) differ by nature, so that this is no failure: it
is told. A program whose numbers are others in each run tells nothing.
"""

from __future__ import annotations

from devsan.fix.experiment import Laboratory, Outcome
from devsan.numbers import reference
from devsan.numbers.comparison import compare
from devsan.numbers.noise import without_noise


def difference_alone(laboratory: Laboratory, outcome: Outcome) -> str:
    """Returns the first difference of ``outcome``, which ended, from a run on one GPU, as one sentence; "" without one.

    Args:
        laboratory: of the job.
        outcome: of the job as it is.
    """
    if laboratory.job.is_command:  # its ranks have a GPU each
        return ""
    alone = laboratory.run(policy="warn", meeting=reference.ALONE)
    difference = compare(alone.numbers, outcome.numbers).difference if alone.ended else ""
    if not difference:
        return ""
    numbers, noise = without_noise(outcome.numbers, laboratory.run().numbers)
    return "" if noise or not compare(numbers, alone.numbers).difference else difference
