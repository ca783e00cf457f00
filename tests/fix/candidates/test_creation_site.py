"""A tensor is made where it is needed: by an expression that is in scope, before a device that is written out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Fixed = Callable[..., list[str]]


def test_a_factory_is_told_the_device_of_an_argument(fixed: Fixed):
    assert fixed("""
import torch

def state(x):
    return torch.zeros(x.shape[0], 3)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x) + state(x)

print(Net().to("cuda")(torch.randn(2, 3, device="cuda")).sum())
""") == ["return torch.zeros(x.shape[0], 3, device=x.device)"]


def test_a_module_without_tensors_among_its_arguments_asks_its_parameters(fixed: Fixed):
    assert fixed("""
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def table(self):
        return torch.ones(3)

    def forward(self, x):
        return self.layer(x) * self.table()

print(Net().to("cuda")(torch.randn(2, 3, device="cuda")).sum())
""") == ["return torch.ones(3, device=next(self.parameters()).device)"]


def test_what_a_backward_pass_begins_with_is_made_beside_its_root(fixed: Fixed):
    assert fixed("""
import torch

def penalty(critic, x):
    scores = critic(x)
    (gradients,) = torch.autograd.grad(scores, x, grad_outputs=torch.ones(scores.shape), create_graph=True)
    return gradients.norm()

critic = torch.nn.Linear(3, 1).to("cuda")
penalty(critic, torch.ones(2, 3, device="cuda", requires_grad=True)).backward()
""") == [
        "(gradients,) = torch.autograd.grad(scores, x, grad_outputs=torch.ones(scores.shape, "
        "device=scores.device), create_graph=True)"
    ]


@pytest.mark.long
def test_a_loss_with_weights_goes_to_the_device_of_the_accelerator(fixed: Fixed):
    (line,) = fixed("""
import torch
from accelerate import Accelerator

def main():
    accelerator = Accelerator()
    criterion = torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]) / 3)
    model = accelerator.prepare(torch.nn.Linear(3, 2))
    accelerator.backward(criterion(model(torch.ones(2, 3, device="cuda")), torch.tensor([0, 1], device="cuda")))

main()
""")
    assert "accelerator.device" in line and "weight" in line


def test_a_name_that_says_a_device_comes_before_the_device_itself(fixed: Fixed):
    (line,) = fixed("""
import torch

device = "cuda:0"
layer = torch.nn.Linear(3, 3).to(device)
weights = torch.ones(3)
out = layer(torch.randn(2, 3, device=device))
print((weights * out).sum())
""")
    assert '"cuda:0"' not in line


@pytest.mark.long
def test_the_tensors_of_one_object_are_made_on_one_device(fixed: Fixed):
    assert fixed("""
import torch
from torch.distributions import Normal

class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = torch.nn.Parameter(torch.tensor([0.1, 0.2]))
        self.prior = Normal(torch.full((2,), 0.5), torch.ones(2))

    def loss(self):
        return -self.prior.log_prob(self.raw.exp()).sum()

scale = Scale().to("cuda:0")
scale.loss().backward()
print(scale.raw.grad.sum().item())
""") == ['self.prior = Normal(torch.full((2,), 0.5, device="cuda:0"), torch.ones(2, device="cuda:0"))']


def test_what_is_moved_together_goes_together_and_the_weights_stay(fixed: Fixed):
    assert fixed(
        """
import threading
import torch

class Prefetcher:
    def __init__(self, source):
        self.batches = []
        thread = threading.Thread(target=self.work, args=(source,))
        thread.start()
        thread.join()

    def work(self, source):
        for x, y in source:
            self.batches.append((x.cuda(non_blocking=True), y.cuda(non_blocking=True)))

def main():
    torch.cuda.set_device(1)
    model = torch.nn.Linear(3, 1).cuda()
    data = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(2)]
    for x, y in Prefetcher(data).batches:
        (model(x) - y).square().mean().backward()

main()
""",
        gpus=2,
    ) == ['self.batches.append((x.to("cuda:1", non_blocking=True), y.to("cuda:1", non_blocking=True)))']


def test_an_argument_goes_to_the_module_that_it_is_given_to(fixed: Fixed):
    assert fixed(
        """
import torch
from torch import nn

class Pipeline(nn.Module):
    def __init__(self, stages):
        super().__init__()
        self.stages = nn.ModuleDict(stages)
        for i, stage in enumerate(self.stages.values()):
            stage.to(f"cuda:{i}")
        self.where = {name: torch.device("cuda", i) for i, name in enumerate(sorted(stages))}

    def forward(self, x):
        for name, stage in self.stages.items():
            x = stage(x.to(self.where[name]))
        return x

def main():
    stages = {name: nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for name in ("stem", "body")}
    model = Pipeline(stages)
    for _ in range(2):
        model(torch.randn(4, 3)).sum().backward()

main()
""",
        gpus=2,
    ) == ["x = stage(x.to(next(stage.parameters()).device))"]


@pytest.mark.long
def test_a_function_that_moves_the_batch_is_told_the_device_of_the_model_it_is_for(fixed: Fixed):
    assert fixed(
        """
import torch
from torch.optim.swa_utils import AveragedModel, update_bn

class Trainer:
    def __init__(self, net):
        self.device, self.eval_device = torch.device("cuda:0"), torch.device("cuda:1")
        self.net = net.to(self.device)
        self.average = AveragedModel(self.net, device=self.eval_device)

    def finish(self, batches):
        self.average.update_parameters(self.net)
        update_bn(batches, self.average, device=self.device)
        with torch.no_grad():
            return self.average(batches[0].to(self.eval_device)).sum().item()

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
print(Trainer(net).finish([torch.randn(5, 3) for _ in range(3)]))
""",
        gpus=2,
    ) == ["update_bn(batches, self.average, device=self.eval_device)"]


def test_what_a_hook_meets_is_made_on_the_device_of_the_hooked_module(fixed: Fixed):
    assert fixed(
        """
import torch

def inner(net, at):
    return net[at]

def edited(net, x, at, device):
    delta = torch.zeros(3, requires_grad=True, device=device)
    kept = {}

    def hook(module, inputs, output):
        kept.setdefault("before", output.detach().norm())
        return output + delta

    handle = inner(net, at).register_forward_hook(hook)
    for step in range(2):
        loss = net(x).sum()
        loss.backward()
        with torch.no_grad():
            delta -= 0.1 * delta.grad
            if delta.norm() > kept["before"]:
                delta *= kept["before"] / delta.norm()
    handle.remove()
    return delta

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3).to("cuda:1"), torch.nn.Tanh())
net[0].to("cuda:0").register_forward_hook(lambda module, inputs, output: output.to("cuda:1"))
print(edited(net, torch.ones(2, 3, device="cuda:0"), 1, "cuda:0").sum().item())
""",
        gpus=2,
    ) == ["delta = torch.zeros(3, requires_grad=True, device=next(inner(net, at).parameters()).device)"]


def test_states_that_statements_make_one_after_the_other_move_together(fixed: Fixed):
    lines = fixed(
        """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(3, 2)

    def first(self, size):
        h = torch.zeros(1, size, 2).cuda()
        c = torch.zeros(1, size, 2).cuda()
        return h, c

    def forward(self, x, state):
        return self.rnn(x, state)[0]

torch.manual_seed(0)
net = Net().to("cuda:1")
net(torch.ones(5, 4, 3, device="cuda:1"), net.first(4)).sum().backward()
""",
        gpus=2,
    )
    assert [line.partition(".to(")[0] for line in lines] == [
        "h = torch.zeros(1, size, 2)",
        "c = torch.zeros(1, size, 2)",
    ]
