"""The cost of one operation: an addition of four elements on an emulated GPU beside the same on plain CPU."""

from __future__ import annotations

from measure import Contender, Worker, in_turns
from table import Row, row

ROUNDS = 61


def measure() -> list[Row]:
    with Worker("devsan") as worker:
        emulated = Contender("cuda:0", worker, "add cuda")
        fake = Contender("FakeTensorMode", worker, "add fake")
        devsan, others = in_turns(Contender("plain CPU", worker, "add cpu"), [emulated, fake], ROUNDS)
    return [
        row("add of 4 elements, cuda:0", devsan, goal=1.3),
        row("add of 4 elements, torch's FakeTensorMode", others),
    ]
