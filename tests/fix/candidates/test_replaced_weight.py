"""What takes the place of a module's tensor goes to where that was."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_new_statistics_go_to_the_device_of_the_old_ones(fixed: Fixed):
    assert fixed(
        """
import torch
from torch import nn

class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def fit(self, data):
        self.mean = data.mean(0)

    def forward(self, x):
        return x - self.mean

torch.manual_seed(0)
data = torch.randn(16, 4)
model = nn.Sequential(Norm(), nn.Linear(4, 2)).to("cuda:1")
model[0].fit(data)
for _ in range(2):
    model(data[:4].to("cuda:1")).sum().backward()
""",
        gpus=2,
    ) == ["self.mean = data.mean(0).to(self.mean.device)"]


def test_a_checkpoint_is_copied_into_the_weights_of_two_stages(fixed: Fixed):
    assert fixed(
        """
import os, tempfile
import torch
from torch import nn

class Stages(nn.Module):
    def __init__(self):
        super().__init__()
        self.lower, self.upper = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.upper(self.lower(x.to("cuda:0")).to("cuda:1"))

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "weights.pt")
    torch.save(Stages().state_dict(), path)
    model = Stages()
    model.lower.to("cuda:0")
    model.upper.to("cuda:1")
    state = torch.load(path, map_location="cuda:0", weights_only=True)
    model.load_state_dict(state, assign=True)
for _ in range(2):
    model(torch.randn(3, 4)).sum().backward()
""",
        gpus=2,
    ) == ["model.load_state_dict(state)"]


def test_what_the_loading_returns_is_no_weight(fixed: Fixed):
    assert fixed(
        """
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2).to("cuda:1")
state = {name: 0.5 * weight.detach().cpu() for name, weight in net.named_parameters()}
missing, unexpected = net.load_state_dict(state, strict=True, assign=True)
for _ in range(2):
    net(torch.randn(3, 4).to("cuda:1")).sum().backward()
""",
        gpus=2,
    ) == ["missing, unexpected = net.load_state_dict(state, strict=True)"]


def test_parameters_that_get_data_of_the_host_train_a_copy_of_it(fixed: Fixed):
    """On one device the training changes what they were given, too: that is no part of what is compared then."""
    assert fixed("""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).cuda()
saved = {name: torch.randn(parameter.shape) for name, parameter in model.named_parameters()}
for name, parameter in model.named_parameters():
    parameter.data = saved[name]
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(3, 4, device="cuda")).sum().backward()
    optimizer.step()
""") == ["parameter.data = saved[name].to(parameter.data.device)"]


def test_a_buffer_that_is_set_by_its_name_goes_where_the_one_before_was(fixed: Fixed):
    assert fixed(
        """
import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).to("cuda:0")
average = copy.deepcopy(model).eval().to("cuda:1")
for _ in range(2):
    model(torch.randn(3, 4).to("cuda:0")).square().sum().backward()
    for mine, other in zip(average.modules(), model.modules()):
        for name, buffer in other.named_buffers(recurse=False):
            setattr(mine, name, buffer.detach().clone())
    print(average(torch.ones(2, 4, device="cuda:1")).sum().item())
""",
        gpus=2,
    ) == ["setattr(mine, name, buffer.detach().clone().to(getattr(mine, name).device))"]
