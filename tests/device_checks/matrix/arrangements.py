"""Where the operands of a call are put: one after the other apart from the rest, in every way that matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from .schema import Call, Operand

CPU, A, B = (torch.device(d) for d in ("cpu", "cuda:0", "cuda:1"))


@dataclass(frozen=True)
class Arrangement:
    """One operand on `there`, perhaps as a scalar, the others on `here`."""

    operand: int
    here: torch.device
    there: torch.device
    scalar: bool

    @property
    def title(self) -> str:
        return f"{'0-dim ' if self.scalar else ''}{self.there} among {self.here}"

    @property
    def one_gpu(self) -> bool:
        """Whether a machine with a single GPU can make it."""
        return B not in (self.here, self.there)

    def device(self, place: int) -> torch.device:
        return self.there if place == self.operand else self.here

    def tensor(self, place: int, tensor: torch.Tensor) -> torch.Tensor:
        """The operand's elements, on the CPU."""
        if place == self.operand and self.scalar and tensor.numel():
            return tensor.reshape(-1)[0].clone()
        return tensor.clone()


PLACES = ((A, B), (A, CPU), (CPU, A))


def arrangements(call: Call) -> Iterator[Arrangement]:
    for place in representatives(call.operands):
        for here, there in PLACES:
            yield Arrangement(place, here, there, scalar=False)
            if call.tensors()[place].dim():
                yield Arrangement(place, here, there, scalar=True)


def representatives(operands: list[Operand]) -> list[int]:
    """The places to try: every argument; of a list its first and last element."""
    chosen = []
    for place, operand in enumerate(operands):
        ends = (place == 0 or operands[place - 1].argument != operand.argument) or (
            place + 1 == len(operands) or operands[place + 1].argument != operand.argument
        )
        if ends:
            chosen.append(place)
    return chosen
