"""What a module keeps: registered or not."""

import torch
from torch import nn

MEAN = torch.tensor([0.5, 0.5])  # DV108


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.scale = torch.ones(8)  # DV108

    def forward(self, x):
        return self.layer(x) * self.scale


class Sliced(nn.Module):
    def __init__(self, width, longest=16):
        super().__init__()
        table = torch.zeros(1, longest, width)
        table[0, :, 0::2] = torch.sin(torch.arange(longest).unsqueeze(1))
        self.table = table  # DV108

    def forward(self, x):
        return x + self.table[:, : x.size(1)].cos()


class OfTheFile(nn.Module):
    def forward(self, x: torch.Tensor):
        return x - MEAN


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = [nn.Linear(4, 1) for _ in range(3)]  # DV108

    def forward(self, x):
        return [head(x) for head in self.heads]


class Scales(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = [nn.Parameter(torch.ones(4)) for _ in range(2)]  # DV108

    def forward(self, x):
        return x * self.scales[0]


class Helper:
    def __init__(self, width):
        self.values = torch.ones(width)  # DV108

    def __call__(self, h):
        return h * self.values


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.helper = Helper(4)

    def forward(self, h):
        return self.helper(self.layer(h))


# What is as it should be.


class Registered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(8))
        self.bias = nn.Parameter(torch.zeros(8))
        heads = [nn.Linear(8, 1) for _ in range(3)]
        self.heads = nn.ModuleList(heads)
        self.named = []
        for number, head in enumerate(heads):
            self.add_module(f"head{number}", head)
            self.named.append(head)
        self.stack = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        x = self.stack(x) * self.scale + self.bias
        return [head(x) for head in self.heads] + [head(x) for head in self.named]


class MovesItself(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(8)

    def _apply(self, function):
        self.scale = function(self.scale)
        return super()._apply(function)

    def forward(self, x):
        return x * self.scale


class Later(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = None
        self.limit = torch.tensor(4.0)

    def forward(self, x):
        if self.cache is None:
            self.cache = torch.arange(x.shape[-1], device=x.device)
        return x * self.cache.clamp(max=self.limit)


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = torch.arange(10)

    def forward(self, x):
        return [x * step for step in self.steps.tolist()] + [x[self.steps]]


class Registers(Plain):
    def __init__(self):
        super().__init__()
        scale = self.scale
        del self.scale
        self.register_buffer("scale", scale)


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Linear(4, 4).to("cuda:0")
        self.back = nn.Linear(4, 4).to("cuda:1")
        self.offset = torch.zeros(4, device="cuda:1")

    def forward(self, x):
        return self.back(self.front(x.to("cuda:0")).to("cuda:1")) + self.offset


class MovesItsOwn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.mask = torch.ones(8)

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.mask = fn(self.mask)
        return self

    def forward(self, x):
        return self.layer(x) * self.mask


moved = MovesItsOwn().to("cuda")
print(moved(torch.randn(2, 8, device="cuda")))
