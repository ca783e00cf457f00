"""Layers that CUDA runs by kernels of its own (cuDNN, fused cells): the CPU's numbers to the last bit, both ways."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

GPU = torch.device("cuda:1")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def leaves(value: Any) -> list[torch.Tensor]:
    if isinstance(value, nn.utils.rnn.PackedSequence):
        return [value.data]
    found = [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
    return [leaf for leaf in found if leaf.is_floating_point()]


def run(module: nn.Module, inputs: Any) -> list[torch.Tensor]:
    """The outputs, then the gradients of inputs and parameters."""
    torch.manual_seed(5)
    sources = [leaf.detach().requires_grad_() for leaf in leaves(inputs)]
    spec = pytree.tree_structure(inputs)
    replaced = iter(sources)
    given = [next(replaced) if leaf.is_floating_point() else leaf for leaf in pytree.tree_leaves(inputs)]
    outputs = leaves(module(*pytree.tree_unflatten(given, spec)))
    weighted = [(out * torch.arange(out.numel(), device=out.device).view_as(out)).sum() for out in outputs]
    torch.stack(weighted).sum().backward()
    trained = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
    return [*outputs, *(source.grad for source in sources if source.grad is not None), *trained]


def agree(module: nn.Module, inputs: Any) -> None:
    moved = copy.deepcopy(module).to(GPU)
    expected = run(module, inputs)
    got = run(moved, pytree.tree_map(lambda leaf: leaf.to(GPU), inputs))
    assert len(got) == len(expected) > 1
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.device == GPU
        assert torch.equal(ours.detach().cpu().to_dense(), theirs.detach().to_dense())


class Packed(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, padded: torch.Tensor) -> Any:
        lengths = torch.tensor([4, 2, 1])
        return self.network(nn.utils.rnn.pack_padded_sequence(padded, lengths))[0]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_networks(kind: Callable[..., nn.Module], bidirectional: bool) -> None:
    torch.manual_seed(0)
    agree(kind(5, 7, num_layers=2, bidirectional=bidirectional), (torch.randn(4, 3, 5),))
    agree(Packed(kind(5, 7, num_layers=2, bidirectional=bidirectional)), (torch.randn(4, 3, 5),))


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        pytest.param(lambda: nn.LSTM(5, 7, 2, dropout=0.5), (torch.randn(4, 3, 5),), id="dropout after the same seed"),
        pytest.param(lambda: nn.LSTM(5, 7, proj_size=3), (torch.randn(4, 3, 5),), id="projections"),
        pytest.param(
            lambda: nn.LSTM(5, 7),
            (torch.randn(4, 3, 5), (torch.randn(1, 3, 7), torch.randn(1, 3, 7))),
            id="an LSTM with its state",
        ),
        pytest.param(lambda: nn.LSTMCell(5, 7), (torch.randn(3, 5),), id="LSTMCell"),
        pytest.param(lambda: nn.GRUCell(5, 7), (torch.randn(3, 5),), id="GRUCell"),
        pytest.param(lambda: nn.RNNCell(5, 7, nonlinearity="relu"), (torch.randn(3, 5),), id="RNNCell"),
        pytest.param(lambda: nn.Conv2d(4, 8, 3, groups=4), (torch.randn(2, 4, 8, 8),), id="depthwise convolution"),
        pytest.param(lambda: nn.BatchNorm2d(4), (torch.randn(2, 4, 3, 3),), id="batch normalization"),
        pytest.param(
            lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), (torch.randn(2, 4),), id="weight_norm"
        ),
        pytest.param(
            lambda: nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
            (torch.randn(2, 5, 16),),
            id="a transformer's layer",
        ),
    ],
)
def test_other_layers(make: Callable[[], nn.Module], inputs: Any) -> None:
    torch.manual_seed(0)
    agree(make(), inputs)


def test_a_padded_batch_takes_the_encoders_fast_path() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    source, padding = torch.randn(2, 5, 16), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad():
        expected = encoder(source, src_key_padding_mask=padding)
        got = encoder.to(GPU)(source.to(GPU), src_key_padding_mask=padding.to(GPU))
    assert got.device == GPU
    assert torch.equal(got.cpu(), expected)


def test_ctc_loss() -> None:
    torch.manual_seed(0)
    scores, targets = torch.randn(20, 2, 6).log_softmax(-1), torch.randint(1, 6, (2, 5))
    lengths = torch.tensor([20, 18]), torch.tensor([5, 4])
    expected = nn.functional.ctc_loss(scores, targets, *lengths)
    got = nn.functional.ctc_loss(scores.to(GPU), targets.to(GPU), *lengths)
    assert torch.equal(got.cpu(), expected)


def test_a_second_derivative_goes_through_an_lstm() -> None:
    torch.manual_seed(0)
    network = nn.LSTM(3, 4).double()
    results = []
    for device in ("cpu", GPU):
        network.to(device)
        source = torch.arange(12, dtype=torch.double, device=device).view(2, 2, 3).requires_grad_()
        with torch.backends.cudnn.flags(enabled=False):  # which has none
            output = network(source)[0]
        (gradient,) = torch.autograd.grad(output.pow(2).sum(), source, create_graph=True)
        gradient.pow(2).sum().backward()
        results.append(source.grad)
    assert torch.equal(results[0], results[1].cpu())


def test_writing_an_operand_before_backward_is_noticed() -> None:
    network = nn.LSTM(3, 4).to(GPU)
    out = network(torch.ones(2, 1, 3, device=GPU))[0]
    with torch.no_grad():
        network.weight_hh_l0.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
