"""What a function remembers for later calls is remembered for each device."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]

PROGRAM = """
import torch

TABLES = {{}}

def table(size, device):
{look}
    return TABLES[{key}]

def scaled(x):
    return x * table(x.shape[-1], x.device)

total = 0.0
for gpu in range(2):
    x = torch.randn(2, 3, device=f"cuda:{{gpu}}", requires_grad=True)
    scaled(x).sum().backward()
    total += x.grad.sum().item()
print(total)
"""
NAMED = """\
    key = ("rows", size)
    if key not in TABLES:
        TABLES[key] = torch.arange(size, device=device).float()"""
WRITTEN = """\
    if size not in TABLES:
        TABLES[size] = torch.arange(size, device=device).float()"""


def test_the_device_becomes_a_part_of_the_key(fixed: Fixed):
    assert fixed(PROGRAM.format(look=NAMED, key="key"), gpus=2) == ['key = ("rows", size, device)']


def test_a_key_that_stands_at_three_places_is_changed_at_each(fixed: Fixed):
    """The program holds other keys at its end then: they are compared by what they stand for."""
    assert fixed(PROGRAM.format(look=WRITTEN, key="size"), gpus=2) == [
        "if (size, device) not in TABLES:",
        "TABLES[(size, device)] = torch.arange(size, device=device).float()",
        "return TABLES[(size, device)]",
    ]


OF_STAGES = """
import torch
from torch import nn

class Norms:
    def __init__(self):
        self.kept = {}

    def get(self, name, edges, count):
        if name not in self.kept:
            degree = torch.zeros(count, device=edges.device).index_add_(0, edges[1], torch.ones_like(edges[1]).float())
            self.kept[name] = (edges.clone(), degree.clamp(min=1).rsqrt())
        return self.kept[name]

class Layer(nn.Module):
    def __init__(self, norms):
        super().__init__()
        self.linear, self.norms = nn.Linear(3, 3), norms

    def forward(self, x, edges):
        (source, target), weight = self.norms.get("all", edges, len(x))
        sent = self.linear(x).index_select(0, source) * weight[source, None]
        return torch.zeros_like(x).index_add_(0, target, sent)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        norms = Norms()
        self.first, self.second = Layer(norms).to("cuda:0"), Layer(norms).to("cuda:1")

    def forward(self, x, edges):
        x = self.first(x.to("cuda:0"), edges.to("cuda:0"))
        return self.second(x.to("cuda:1"), edges.to("cuda:1"))

net = Net()
loss = net(torch.randn(4, 3), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])).sum()
loss.backward()
print(loss.item())
"""


def test_an_object_that_stages_share_keeps_one_for_each_device(fixed: Fixed):
    assert fixed(OF_STAGES, gpus=2) == [
        'if (name, edges.device) not in self.kept:',
        'self.kept[(name, edges.device)] = (edges.clone(), degree.clamp(min=1).rsqrt())',
        'return self.kept[(name, edges.device)]',
    ]  # fmt: skip


def test_a_key_is_one_fix_of_several(fixed: Fixed):
    program = OF_STAGES.replace(
        "loss = net(torch.randn(4, 3), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])).sum()",
        """labels = torch.tensor([0, 1, 2, 0], device="cuda:0")
out = net(torch.randn(4, 3), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
loss = nn.functional.cross_entropy(out, labels)""",
    )
    lines = fixed(program, gpus=2)
    assert "if (name, edges.device) not in self.kept:" in lines
    assert any("labels" in line for line in lines)
