"""Generators are where they draw."""

from __future__ import annotations

from collections.abc import Callable

Ended = Callable[..., list[str]]


def test_a_generator_is_made_on_the_device_that_the_function_is_told(ended: Ended):
    assert ended("""
import torch

def noise(shape, seed, device):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, device=device)

print(noise((2, 3), 0, torch.device("cuda")).sum())
""") == ["generator = torch.Generator(device=device).manual_seed(seed)"]


def test_a_sampler_gets_a_generator_on_the_default_device(ended: Ended):
    (line,) = ended("""
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_device("cuda")
data = TensorDataset(torch.randn(4, 2))
for (batch,) in DataLoader(data, batch_size=2, shuffle=True):
    print(batch.sum())
""")
    assert line.endswith("shuffle=True, generator=torch.Generator(device=torch.get_default_device())):")


def test_what_a_sampler_then_draws_is_drawn_on_one_device_too(fixed: Ended):
    (line,) = fixed("""
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
torch.set_default_device("cuda")
weight = torch.ones(3, requires_grad=True)
loader = DataLoader(TensorDataset(torch.arange(24.0).view(8, 3)), batch_size=2, shuffle=True)
for epoch in range(2):
    for (batch,) in loader:
        (batch * weight).square().sum().backward()
        weight.data -= 1e-3 * weight.grad
print(weight.sum().item())
""")
    assert line.endswith("shuffle=True, generator=torch.Generator(device=torch.get_default_device()))")


def test_a_generator_of_a_sampler_follows_the_default_device(fixed: Ended):
    assert fixed("""
import torch
from torch.utils.data import DataLoader, RandomSampler

def loader(data):
    generator = torch.Generator()
    generator.manual_seed(1)
    return DataLoader(data, batch_size=2, sampler=RandomSampler(data, generator=generator))

torch.set_default_device("cuda")
weight = torch.ones(3, requires_grad=True)
for batch in loader(torch.arange(12.0).view(4, 3)):
    (batch * weight).sum().backward()
print(weight.grad.sum().item())
""") == ["generator = torch.Generator(device=torch.get_default_device())"]


def test_what_is_drawn_from_goes_to_the_generator(fixed: Ended):
    assert fixed("""
import torch

class Sampler:
    def __init__(self, count):
        self.generator = torch.Generator().manual_seed(0)
        self.chances = torch.ones(count)

    def draw(self):
        return torch.multinomial(self.chances, 4, generator=self.generator).tolist()

    def update(self, losses):
        self.chances = torch.softmax(losses, dim=0)

sampler = Sampler(9)
print(sampler.draw())
sampler.update(torch.arange(9.0, device="cuda"))
print(sampler.draw())
""") == ["return torch.multinomial(self.chances.to(self.generator.device), 4, generator=self.generator).tolist()"]
