"""Recurrent networks are carried out whole on the host, with autograd where it follows them, without where not."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

GPU = "cuda:1"


def network(device: str) -> tuple[torch.nn.LSTM, Tensor]:
    torch.manual_seed(0)
    return torch.nn.LSTM(3, 4).to(device), torch.rand(2, 1, 3).to(device)


def test_without_autograd_the_numbers_are_the_hosts() -> None:
    (here, x), (there, y) = network("cpu"), network(GPU)
    for scope in (torch.no_grad, torch.inference_mode):
        with scope():
            for _ in range(2):  # aliases of the first call are used again by the second
                expected, output = here(x)[0], there(y)[0]
                assert output.device == torch.device(GPU) and not output.requires_grad
                assert torch.equal(output.cpu(), expected)
                output.add_(1)  # its own memory, not a network's operand


def test_an_operand_without_gradient_is_watched_too() -> None:
    for device in ("cpu", GPU):
        lstm, x = network(device)
        output = lstm(x)[0]
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            output.sum().backward()


def test_an_operand_of_a_call_without_autograd_is_not_tied_to_the_next_one() -> None:
    lstm, x = network(GPU)
    with torch.no_grad():
        lstm(x)
    version = x._version
    (torch.zeros(2, 1, 3, device=GPU) + 1).mul_(2)
    assert x._version == version
