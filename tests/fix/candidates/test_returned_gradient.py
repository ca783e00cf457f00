"""A gradient goes back to where the input of its function is."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]

SHIP = """
import torch

class Ship(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, device):
        {kept}
        return x.to(device)

    @staticmethod
    def backward(ctx, grad):
        return grad, None
"""


def test_what_forward_kept_says_the_device(fixed: Fixed):
    assert fixed(
        SHIP.format(kept="ctx.source = x.device")
        + """
def main():
    first = torch.nn.Linear(3, 3).to("cuda:0")
    second = torch.nn.Linear(3, 1).to("cuda:1")
    for _ in range(2):
        h = first(torch.randn(4, 3).to("cuda:0"))
        second(Ship.apply(h, "cuda:1")).sum().backward()

main()
""",
        gpus=2,
    ) == ["return grad.to(ctx.source), None"]


def test_forward_keeps_the_device_of_its_input(fixed: Fixed):
    assert fixed(
        SHIP.format(kept="pass")
        + """
def main():
    first = torch.nn.Linear(3, 3).to("cuda:0")
    second = torch.nn.Linear(3, 3).to("cuda:1")
    last = torch.nn.Linear(3, 1).to("cuda:0")
    for _ in range(2):
        h = first(torch.randn(4, 3).to("cuda:0"))
        last(Ship.apply(second(Ship.apply(h, "cuda:1")), "cuda:0")).sum().backward()

main()
""",
        gpus=2,
    ) == ["ctx.x_device = x.device", "return grad.to(ctx.x_device), None"]
