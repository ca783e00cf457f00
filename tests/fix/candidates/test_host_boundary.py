"""NumPy gets copies on the host."""

from __future__ import annotations

from collections.abc import Callable

Ended = Callable[..., list[str]]


def test_a_tensor_is_copied_where_numpy_takes_it(ended: Ended):
    assert ended("""
import torch

scores = torch.rand(3, device="cuda")
print(scores.numpy().max())
""") == ["print(scores.cpu().numpy().max())"]


def test_a_function_of_numpy_gets_an_array(ended: Ended):
    assert ended("""
import numpy as np
import torch

labels = np.array([0, 1, 2])
guesses = torch.arange(3, device="cuda")
print(float(np.mean(np.equal(guesses, labels))))
""") == ["print(float(np.mean(np.equal(guesses.cpu().numpy(), labels))))"]


def test_what_a_function_reads_on_the_host_stays_there(ended: Ended):
    assert ended("""
import torch

def parts(x, sections):
    return torch.tensor_split(x, sections)

weight = torch.arange(10.0, device="cuda", requires_grad=True)
sum(part.mean() for part in parts(weight, torch.tensor([3, 6], device="cuda"))).backward()
""") == ['return torch.tensor_split(x, sections.to("cpu"))']


def test_an_argument_that_a_library_has_changed_is_found_in_the_call(ended: Ended):
    assert ended("""
import torch
from torch.nn.utils.rnn import pack_padded_sequence

x = torch.ones(2, 3, 4, device="cuda", requires_grad=True)
lengths = torch.tensor([1, 3], device="cuda")
packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
packed.data.sum().backward()
""") == ['packed = pack_padded_sequence(x, lengths.to("cpu"), batch_first=True, enforce_sorted=False)']


def test_a_loader_of_gpu_tensors_pins_nothing(fixed: Ended):
    assert fixed("""
import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(8, 4).to("cuda"), torch.randn(8, 1).to("cuda"))
model = torch.nn.Linear(4, 1).to("cuda")
for x, y in DataLoader(data, batch_size=4, pin_memory=True):
    (model(x) - y).square().mean().backward()
""") == ["for x, y in DataLoader(data, batch_size=4, pin_memory=False):"]
