"""The cost of a model: forward and backward of a 4-layer Llama, on one emulated GPU and over two."""

from __future__ import annotations

from measure import Contender, Worker, in_turns
from table import Row, row

ROUNDS = 41


def measure() -> list[Row]:
    with Worker("devsan") as worker:
        plain = Contender("plain CPU", worker, "llama cpu")
        hooked = Contender("plain CPU, same hooks", worker, "llama cpu hooks")
        one = Contender("one", worker, "llama cuda")
        two = Contender("two", worker, "llama cuda hooks")
        on_one, on_two, hooks = in_turns(plain, [one, two, hooked], ROUNDS)
        [on_two_beside_hooks] = in_turns(hooked, [two], ROUNDS)
        [fake] = in_turns(plain, [Contender("fake", worker, "llama fake")], ROUNDS // 4)
    return [
        row("Llama forward + backward, cuda:0", on_one, goal=1.05),
        row("Llama over cuda:0 and cuda:1 by accelerate", on_two, goal=1.08),
        row("Llama over cuda:0 and cuda:1 by accelerate", on_two_beside_hooks),
        row("Llama on plain CPU with accelerate's hooks", hooks),
        row("Llama, torch's FakeTensorMode (no arithmetic)", fake),
    ]
