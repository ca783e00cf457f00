"""What is not emulated costs what it did: CPU tensors in a process with DevSan beside one without."""

from __future__ import annotations

from measure import Contender, Worker, in_turns
from table import Row, row


def measure() -> list[Row]:
    rows = []
    with Worker("plain") as without, Worker("devsan") as started:
        for name, work, rounds in (("add of 4 elements", "add cpu", 101), ("Llama", "llama cpu", 41)):
            [result] = in_turns(Contender("without DevSan", without, work), [Contender("with", started, work)], rounds)
            rows.append(row(f"{name} on plain CPU, DevSan started", result))
    return rows
