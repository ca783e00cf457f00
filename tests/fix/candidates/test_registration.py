"""What a module holds is registered with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from devsan.fix.candidates.registration import _MEMBERS

Fixed = Callable[..., list[str]]


def test_a_plain_attribute_becomes_a_buffer_of_every_replica(fixed: Fixed):
    assert fixed(
        """
import torch

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.scale = torch.full((4,), 2.0, device="cuda:0")

    def forward(self, x):
        return self.layer(x) * self.scale

model = torch.nn.DataParallel(Scaled().to("cuda:0"))
model(torch.randn(4, 4, device="cuda:0")).sum().backward()
""",
        gpus=2,
    ) == ['self.register_buffer("scale", torch.full((4,), 2.0, device="cuda:0"), persistent=False)']


def test_a_list_of_modules_becomes_a_module_list(fixed: Fixed):
    assert fixed("""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = [nn.Linear(4, 2) for _ in range(2)]

    def forward(self, x):
        return sum(head(x) for head in self.heads)

print(Net().to("cuda")(torch.randn(3, 4, device="cuda")).sum())
""") == ["self.heads = nn.ModuleList([nn.Linear(4, 2) for _ in range(2)])"]


def test_modules_that_only_the_change_trains_are_compared_with_one_device_that_trains_them(searched):
    """On one device the list is in no optimizer either: the reference is the program with the change."""
    found = searched("""
import torch
from torch import nn

class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = [nn.Linear(4, 4) for _ in range(2)]
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        return self.norm(x + sum(expert(x) for expert in self.experts))

torch.manual_seed(0)
net = nn.Sequential(Experts(), nn.Linear(4, 2)).to("cuda")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = net(torch.randn(3, 4, device="cuda")).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
""")
    best = found.verified[0]
    assert best.altered == "trains"
    assert [edit.after for change in best.changes for edit in change.edits] == [
        "nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])"
    ]


def test_an_annotated_attribute_becomes_a_buffer_that_is_given_later(fixed: Fixed):
    assert fixed(
        """
import torch

class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        self.margin: torch.Tensor | None = None

    def set_margin(self, counts):
        self.margin = counts.float().pow(-0.25).to(self.layer.weight.device)

    def forward(self, x):
        return self.layer(x) - self.margin

head = Head().to("cuda:0")
head.set_margin(torch.tensor([1, 2, 3]))
model = torch.nn.DataParallel(head)
for _ in range(2):
    model(torch.randn(4, 4, device="cuda:0")).sum().backward()
""",
        gpus=2,
    ) == ['self.register_buffer("margin", None, persistent=False)']


def test_a_dictionary_that_replicas_share_registers_its_modules(fixed):
    assert fixed(
        """
import torch

class Readers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.readers = {}
        self.add_reader("short", torch.nn.Linear(4, 3))
        self.last = torch.nn.Linear(3, 2)

    def add_reader(self, name, module):
        self.add_module(f"{name}_reader", module)
        self.readers[name] = module

    def forward(self, x):
        return self.last(self.readers["short"](x))

torch.manual_seed(0)
model = torch.nn.DataParallel(Readers().cuda())
print(model(torch.randn(4, 4, device="cuda")).sum())
""",
        gpus=2,
    ) == ["self.readers = torch.nn.ModuleDict()"]


def test_a_list_that_modules_are_appended_to_registers_them(fixed: Callable[..., list[str]]):
    """Moving each where it is called would do for the devices; the optimizer would still not have them."""
    assert fixed("""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lateral = []
        for _ in range(2):
            self.lateral.append(nn.Linear(4, 4))
        self.head = nn.Linear(4, 1)

    def forward(self, features):
        return self.head(sum(layer(x) for layer, x in zip(self.lateral, features)))


model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model([torch.ones(2, 4, device="cuda")] * 2).sum().backward()
optimizer.step()
""") == ["self.lateral = nn.ModuleList()"]


def test_one_of_several_attributes_that_a_call_gives_becomes_a_buffer(fixed: Fixed):
    assert fixed("""
import torch

def rotation(width, length):
    angles = torch.outer(torch.arange(length).float(), torch.arange(width).float())
    return angles.cos(), angles.sin()

class Rotated(torch.nn.Module):
    def __init__(self, sin=True):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.cos, self.sin = rotation(4, 8)

    def forward(self, x):
        return self.layer(x) * self.cos[: len(x)] + self.layer(x) * self.sin[: len(x)]

print(Rotated().to("cuda")(torch.randn(3, 4, device="cuda")).sum())
""") == [
        "cos, sin_buffer = rotation(4, 8)",
        'self.register_buffer("sin", sin_buffer, persistent=False)',
        'self.register_buffer("cos", cos, persistent=False)',
    ]


def test_what_a_function_of_the_file_returns_is_held_in_its_container(fixed: Fixed):
    assert fixed("""
import torch
from torch import nn

def make_heads():
    return {"near": nn.Linear(4, 2), "far": nn.Linear(4, 2)}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = make_heads()

    def forward(self, x):
        return sum(head(x) for head in self.heads.values())

print(Net().to("cuda")(torch.randn(3, 4, device="cuda")).sum())
""") == ["self.heads = nn.ModuleDict(make_heads())"]


def test_keys_that_are_members_of_a_module_dict_are_not_tried(searched: Callable[..., Any]):
    found = searched("""
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = {"train": nn.Linear(4, 2), "eval": nn.Linear(4, 2)}

    def forward(self, x):
        return self.heads["train"](x) + self.heads["eval"](x)

print(Net().to("cuda")(torch.randn(3, 4, device="cuda")).sum())
""")
    tried = [str(change.text) for trial in found.trials for change in trial.changes]
    assert found.verified and not any("ModuleDict" in text for text in tried)


def test_the_members_that_are_refused_are_torchs():
    refused = {name for name in _MEMBERS if not _accepts(name)}
    assert refused == _MEMBERS


def _accepts(name: str) -> bool:
    try:
        torch.nn.ModuleDict({name: torch.nn.Identity()})
    except KeyError:
        return False
    return True
