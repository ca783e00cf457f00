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
