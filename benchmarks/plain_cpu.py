"""What is not emulated costs what it did: CPU tensors in a process with DevSan beside one without.

Two processes never run alike to the percent; how far two without DevSan are apart is measured with it.
"""

from __future__ import annotations

from measure import Contender, Worker, in_turns
from table import Row, row


def measure() -> list[Row]:
    rows = []
    with Worker("plain") as without, Worker("devsan") as started, Worker("plain") as another:
        for name, work, rounds in (("add of 4 elements", "add cpu", 101), ("Llama", "llama cpu", 41)):
            contenders = [Contender("with", started, work), Contender("another", another, work)]
            result, noise = in_turns(Contender("without DevSan", without, work), contenders, rounds)
            rows.append(row(f"{name} on plain CPU, DevSan started", result))
            rows.append(row(f"{name} on plain CPU, a second process without", noise))
    return rows
