"""The tiny tensors that every operator is timed with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Work = Callable[[], Any]
Works = dict[str, Work]


class Operands:
    """The tensors of all cases, on one device."""

    def __init__(self, device: str) -> None:
        import torch

        numbers = torch.Generator().manual_seed(0)

        def random(*shape: int) -> Any:
            return torch.rand(shape, generator=numbers).to(device)

        self.device = device
        self.x, self.y, self.z, self.out = (random(2, 2) for _ in range(4))
        self.four = random(4)
        self.pair, self.other_pair, self.means, self.variances = (random(2) for _ in range(4))
        self.three = [random(2, 2) for _ in range(3)]
        self.picture = random(1, 2, 4, 4)
        self.text = random(1, 2, 2)
        self.mask = (self.x > 0.5).to(device)
        self.index = torch.tensor([0, 1]).to(device)
        self.places = torch.tensor([[0, 1], [1, 0]]).to(device)
        self.scalar = random()
        self.heads = random(1, 1, 2, 4)
        self.weight = random(2, 2, 3, 3)
        self.filter = random(2, 2, 1)
        self.gates = random(8, 2)
        self.bias = random(8)
        self.leaf = random(2, 2).requires_grad_()
        self.on_host = random(2, 2).cpu()

    def listed(self, count: int) -> list[Any]:
        """So many small tensors."""
        return [self.x.clone() for _ in range(count)]


def torch_() -> Any:
    """torch, imported when the first work is made: it must not be there before DevSan wants it to."""
    import torch

    return torch


def functional() -> Any:
    """torch.nn.functional, likewise."""
    import torch

    return torch.nn.functional
