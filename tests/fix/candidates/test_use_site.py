"""Operands move where they meet."""

from __future__ import annotations

from collections.abc import Callable

from devsan.fix.search import Search

Fixed = Callable[..., list[str]]


def test_the_elements_of_a_list_are_joined_on_one_device(fixed: Fixed):
    (line,) = fixed(
        """
import torch

heads = [torch.nn.Linear(2, 1).to(f"cuda:{number}") for number in range(2)]

def total(x):
    losses = [head(x.to(head.weight.device)).mean() for head in heads]
    return torch.stack(losses).sum()

total(torch.randn(3, 2)).backward()
""",
        gpus=2,
    )
    assert line == "return torch.stack([each.to(losses[0].device) for each in losses]).sum()"


def test_an_argument_goes_where_the_argument_beside_it_goes(fixed: Fixed):
    (line,) = fixed(
        """
import torch
from torch import nn

devices = ["cuda:0", "cuda:1"]
layers = [nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True, device=each) for each in devices]
x, mask = torch.randn(2, 3, 4, device="cuda:0"), torch.tensor([[False, False, True]] * 2, device="cuda:0")
for device, layer in zip(devices, layers):
    x = layer(x.to(device), src_key_padding_mask=mask)
print(x.sum())
""",
        gpus=2,
    )
    assert line == "x = layer(x.to(device), src_key_padding_mask=mask.to(device))"


OFFLOADED = """
import torch

weights = torch.ones(3, 64)
scale = torch.tensor(2.0, device="cuda:0")
kept = [weights]


def step(kept):
    kept[0].mul_(1.0 / scale)


step(kept)
print(weights.sum())
"""


def test_a_scalar_comes_to_what_is_written_on_the_host(fixed: Fixed):
    assert fixed(OFFLOADED) == ["kept[0].mul_((1.0 / scale).to(kept[0].device))"]


def test_the_elements_that_a_sum_joins_come_to_one_device(searched: Callable[..., Search]):
    found = searched(
        """
import torch

def merge(states, home):
    return sum(state["w"] * share for state, share in states)

def main():
    states = [({"w": torch.nn.Linear(3, 3).to(f"cuda:{i}").weight.detach()}, 0.5) for i in range(2)]
    print(merge(states, torch.ones(1, device="cuda:0")).norm().item())

main()
""",
        2,
    )
    [change] = found.verified[0].changes
    assert change.code == "DV104"
    assert change.edits[0].before == 'state["w"] * share' and change.edits[0].after.startswith(
        '(state["w"] * share).to('
    )


def test_what_a_call_may_leave_out_is_moved_where_it_is_given(fixed: Fixed):
    (line,) = fixed(
        """
import torch
from torch import nn

class Stage:
    def __init__(self, device):
        self.module = nn.Linear(4, 4).to(device)
        self.device = device

    def forward(self, x):
        self.x = x.detach().to(self.device).requires_grad_(True)
        self.y = self.module(self.x)
        return self.y

    def backward(self, gradient=None):
        torch.autograd.backward(self.y, grad_tensors=gradient)
        return self.x.grad

torch.manual_seed(0)
first, last = Stage("cuda:0"), Stage("cuda:1")
for _ in range(2):
    last.y = last.forward(first.forward(torch.randn(2, 4))).sum()
    first.backward(last.backward())
print(first.module.weight.grad.sum().item())
""",
        gpus=2,
    )
    assert line.strip().startswith("torch.autograd.backward(self.y, grad_tensors=(None if gradient is None else")


def test_an_index_comes_to_the_table_whose_rows_are_moved(fixed: Fixed):
    """The table of a replay buffer stays on the host, and a batch of it goes to the GPU."""
    assert fixed("""
import torch

table = torch.arange(12.0).view(6, 2)
index = torch.tensor([0, 3], device="cuda")
batch = table[index].to("cuda")
(batch * torch.ones(2, device="cuda", requires_grad=True)).sum().backward()
""") == ['batch = table[index.to(table.device)].to("cuda")']


def test_labels_and_class_weights_come_to_the_logits_together(fixed: Fixed):
    (line,) = fixed(
        """
import torch
from torch import nn

torch.manual_seed(0)
embed, head = nn.Embedding(50, 8).to("cuda:0"), nn.Linear(8, 50).to("cuda:1")
weight = torch.ones(50, device="cuda:0")
ids = torch.randint(0, 50, (4, 12), device="cuda:0")
logits = head(embed(ids).to("cuda:1"))
loss = nn.functional.cross_entropy(logits.view(-1, 50), ids.view(-1), weight=weight)
loss.backward()
""",
        gpus=2,
    )
    assert line.endswith("ids.to(logits.device).view(-1), weight=weight.to(logits.device))")
