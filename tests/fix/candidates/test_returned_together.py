"""Functions that return several things, of which they move one."""

from __future__ import annotations

from collections.abc import Callable

Fixed = Callable[..., list[str]]


def test_what_is_returned_beside_a_move_is_moved_as_well(fixed: Fixed):
    assert fixed(
        """
import torch

torch.manual_seed(0)
draft = torch.nn.Linear(4, 8).to("cuda:1")
target = torch.nn.Linear(4, 8).to("cuda:0")

def propose(x):
    where = x.device
    chances = draft(x.to("cuda:1")).softmax(-1)
    return chances.argmax(-1, keepdim=True).to(where), chances.detach()

x = torch.randn(3, 4, device="cuda:0")
tokens, chances = propose(x)
mine = target(x).softmax(-1)
picked = chances.gather(-1, tokens) / mine.gather(-1, tokens)
rest = (mine - chances).clamp(min=0)
print(picked.sum().item(), rest.sum().item())
""",
        gpus=2,
    ) == ["return chances.argmax(-1, keepdim=True).to(where), chances.detach().to(where)"]


def test_what_is_made_of_moved_tensors_counts_too(fixed: Fixed):
    assert fixed(
        """
import torch

torch.manual_seed(0)
actor = torch.nn.GRUCell(4, 6).to("cuda:1")
learner = torch.nn.GRUCell(4, 6).to("cuda:0")
kept = []
for _ in range(3):
    x = torch.randn(2, 4)
    kept.append(({"obs": x}, actor(x.to("cuda:1")).detach()))

def sample(device):
    batch = {name: torch.cat([each[name] for each, _ in kept]).to(device) for name in ("obs",)}
    states = torch.cat([state for _, state in kept])
    return batch["obs"], states

def learn(device):
    obs, states = sample(device)
    return learner(obs, states).sum()

print(learn("cuda:0").item())
""",
        gpus=2,
    ) == ['return batch["obs"], states.to(device)']
