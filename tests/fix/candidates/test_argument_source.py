"""An argument goes to the right device where the calling function makes it."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_what_is_passed_through_two_calls_moves_once(fixed: Fixed):
    assert fixed("""
import torch

def graph(size):
    edges = torch.arange(size).repeat(2, 1)
    return torch.sparse_coo_tensor(edges, torch.ones(size), (size, size)).coalesce()

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3))

    def forward(self, x, links):
        return links @ (x @ self.weight)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def forward(self, x, *, links):
        return self.layer(x, links)

def main():
    device = "cuda"
    net = Net().to(device)
    x = torch.randn(4, 3).to(device)
    adjacency = graph(4)
    for _ in range(3):
        net(x, links=adjacency).sum().backward()

main()
""") == ["adjacency = graph(4).to(device)"]


def test_each_part_of_a_tuple_moves(fixed: Fixed):
    assert fixed("""
import torch

def data():
    both = torch.randn(2, 4, 3)
    return both[0], both[1]

def loss(model, x, y):
    return (model(x) - y).square().mean()

def main():
    device = torch.device("cuda")
    model = torch.nn.Linear(3, 3).to(device)
    x, y = data()
    for _ in range(2):
        loss(model, x, y).backward()

main()
""") == ["x, y = (each.to(model.weight.device) for each in data())"]
