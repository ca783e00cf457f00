"""What the check of streams costs a training step: without it, with it, and after it has ended, in turns."""

from __future__ import annotations

from measure import Contender, Worker, in_turns
from table import Row, row

STEPS = {
    "step wide": ("step of a layer of 256, 8 x 128", 61, 1.2),
    "step narrow": ("step of a layer of 32, 2 x 8", 201, None),  # the host's own work: a goal would be that of a kernel
}


def measure() -> list[Row]:
    rows = []
    with Worker("devsan") as plain, Worker("watched") as watched, Worker("unwatched") as unwatched:
        for work, (name, rounds, goal) in STEPS.items():
            never = Contender("never checked", plain, work)
            others = [Contender("on", watched, work), Contender("off", unwatched, work)]
            on, off = in_turns(never, others, rounds)
            rows += [
                row(f"{name}, check of streams on", on, goal=goal),
                row(f"{name}, check of streams off again", off),
            ]
    return rows
