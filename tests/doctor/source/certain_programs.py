"""Programs over two GPUs, drawn from a seed: modules that are whole, spread, and moved in part, and what meets them."""

from __future__ import annotations

import random
from collections.abc import Callable

HEAD = """\
import torch
from accelerate import dispatch_model
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2 = nn.Linear(4, 4), nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        return self.layer2(self.layer1(x)) - self.mean


class Kind(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2 = nn.Linear(4, 4), nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        x = self.layer1(x.to(self.layer1.weight.device))
        return self.layer2(x.to(self.layer2.weight.device)) * self.scale.to(self.layer2.weight.device)


class Fresh(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2 = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        hidden = self.layer1(x)
        noise = torch.ones(4)
        return self.layer2(hidden + noise)


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2 = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)]), nn.Linear(4, 4)

    def forward(self, x):
        for layer in self.layer1:
            x = layer(x.to(next(layer.parameters()).device))
        return self.layer2(x.to(self.layer2.bias.device))


"""
DEVICES = ('"cpu"', '"cuda"', '"cuda:0"', '"cuda:1"', 'torch.device("cuda", 1)', '"cuda:1"')
CLASSES = ("Net", "Kind", "Fresh", "Branch")


class _Draw:
    """One program, statement by statement.

    Attributes:
        lines: its statements so far.
        modules: names of the modules, by their kind.
        tensors: names of the tensors.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.modules: dict[str, str] = {}
        self.tensors: list[str] = []
        self.made = 0

    def program(self) -> str:
        self.tensor()
        for _ in range(self.random.randint(1, 2)):
            self.random.choice((self.sequential, self.own, self.own, self.mapped))()
        steps: tuple[Callable[[], None], ...] = (
            self.tensor, self.move, self.partly, self.partly, self.call, self.call, self.join, self.beside, self.data,
            self.looped, self.read, self.wrapped, self.copied, self.maybe,
        )  # fmt: skip
        for _ in range(self.random.randint(4, 9)):
            self.random.choice(steps)()
        self.call()
        return HEAD + "\n".join(self.lines) + "\n"

    def name(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made}"

    def device(self) -> str:
        if self.modules and self.random.random() < 0.15:
            return f"next({self.module()}.parameters()).device"
        return self.random.choice(DEVICES)

    def module(self) -> str:
        return self.random.choice(list(self.modules))

    def tensor(self) -> None:
        name = self.name("x")
        how = self.random.choice(("torch.ones(2, 4)", "torch.ones(2, 4, device={})", "torch.zeros(2, 4).to({})"))
        self.lines.append(f"{name} = {how.format(self.device())}")
        self.tensors.append(name)

    def sequential(self) -> None:
        name = self.name("m")
        places = [self.random.choice((".cuda(0)", ".cuda(1)", '.to("cuda:1")', "", ".cuda()")) for _ in range(2)]
        parts = ", ".join(f"nn.Linear(4, 4){place}" for place in places)
        self.lines.append(f"{name} = nn.Sequential({parts})")
        self.modules[name] = "list"

    def own(self) -> None:
        name = self.name("m")
        self.lines.append(f"{name} = {self.random.choice(CLASSES)}()")
        if self.random.random() < 0.6:
            self.lines.append(f"{name}.to({self.device()})")
        self.modules[name] = "own"

    def mapped(self) -> None:
        name = self.name("m")
        first, second = self.random.choice(((0, 1), (1, 0), (0, 0), (1, 1)))
        where = f'{{"layer1": {first}, "layer2": {second}, "mean": {second}}}'
        self.lines.append(f"{name} = dispatch_model(Net(), {where})")
        self.modules[name] = "mapped"

    def move(self) -> None:
        name = self.module()
        if self.modules[name] != "mapped":
            self.lines.append(f"{name} = {name}.to({self.device()})")

    def partly(self) -> None:
        name = self.module()
        part = self.part(name)
        if self.modules[name] == "own" and self.random.random() < 0.3:
            self.lines.append(f"{name}.layer2 = nn.Linear(4, 4){self.random.choice(('', '.cuda(1)'))}")
        elif self.modules[name] != "mapped":
            self.lines.append(f"{part}.to({self.device()})")

    def part(self, name: str) -> str:
        return f"{name}[{self.random.randint(0, 1)}]" if self.modules[name] == "list" else f"{name}.layer2"

    def call(self) -> None:
        name, out = self.module(), self.name("y")
        self.lines.append(f"{out} = {name}({self.random.choice(self.tensors)})")
        self.tensors.append(out)

    def join(self) -> None:
        one, other = self.random.choice(self.tensors), self.random.choice(self.tensors)
        out = self.name("z")
        how = self.random.choice(("{0} + {1}", "torch.cat([{0}, {1}])", "F.mse_loss({0}, {1})", "{0}.mul({1})",
                                  "{0} @ {1}.T", "torch.where({0} > 0, {0}, {1})",
                                  "{0} + {1}.to({0}.device)"))  # fmt: skip
        self.lines.append(f"{out} = {how.format(one, other)}")
        if "mse" not in how and "@" not in how:
            self.tensors.append(out)

    def beside(self) -> None:
        name = self.module()
        part = f"{self.part(name)}.weight"
        if self.random.random() < 0.4:
            part = f"next({name}.parameters())"
        self.lines.append(f"{self.name('z')} = {part} @ {self.random.choice(self.tensors)}.T")

    def data(self) -> None:
        name = self.module()
        out = self.name("x")
        self.lines.append(f"{out} = {self.random.choice(self.tensors)}.to(next({name}.parameters()).device)")
        self.tensors.append(out)

    def looped(self) -> None:
        name, other = self.module(), self.random.choice(self.tensors)
        body = self.random.choice((f"weight.sum() + {other}", f"weight.to({self.device()}).sum() * {other}.sum()"))
        self.lines.append(f"for weight in {name}.parameters():\n    last = {body}")

    def read(self) -> None:
        self.lines.append(f"{self.name('a')} = {self.random.choice(self.tensors)}.detach().numpy()")

    def wrapped(self) -> None:
        name = self.module()
        if self.modules[name] != "mapped":
            self.lines.append(f"{self.name('p')} = nn.DataParallel({name}, device_ids=[0, 1])")

    def copied(self) -> None:
        name = self.module()
        out = self.name("c")
        self.lines.append(f"{out} = [each.detach().clone() for each in {name}.parameters()]")
        self.lines.append(f"{self.name('z')} = {out}[0] + next({name}.parameters())")

    def maybe(self) -> None:
        name = self.module()
        if self.modules[name] == "own":
            self.lines.append(
                f"if {self.made} % 2 == int(input_of_the_program):\n    {name}.layer2.to({self.device()})"
            )


def program(seed: int) -> str:
    """Returns the program of a seed; ``input_of_the_program`` is given from outside."""
    return _Draw(seed).program()
