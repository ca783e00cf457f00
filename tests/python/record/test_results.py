"""What an operator computes comes from where its operand was placed, whichever operators it is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import devsan
from devsan.introspect.provenance.reader import ProvenanceReader


@pytest.fixture(autouse=True)
def gpus():
    with devsan.emulate(gpus=2):
        yield


def attention(x: Any) -> Any:
    return F.scaled_dot_product_attention(x, x, x, dropout_p=0.1, is_causal=True)


@pytest.mark.parametrize("compute", [
    lambda x: F.dropout(x, 0.1),
    lambda x: F.dropout(x.requires_grad_(), 0.1),
    lambda x: F.rms_norm(x, (8,)),
    lambda x: attention(x.bfloat16()),
    lambda x: attention(x.half()),
    lambda x: x[0, 0] @ x[0, 0, 0],  # torch writes these with an empty tensor and another operator
    lambda x: F.one_hot(x.long().abs()),
    lambda x: torch.bernoulli(x.sigmoid()),
    lambda x: nn.LSTM(8, 4, num_layers=2, dropout=0.1).to(x.device)(x[0]),
    lambda x: nn.GRU(8, 4).to(x.device)(x[0]),
    lambda x: nn.RNN(8, 4, nonlinearity="relu").to(x.device)(x[0].requires_grad_()),
    lambda x: nn.LSTMCell(8, 4).to(x.device)(x[0, 0]),
    lambda x: nn.GRUCell(8, 4).to(x.device)(x[0, 0]),
])  # fmt: skip
def test_a_result_comes_from_its_operand(compute: Callable[[Any], Any]):
    origin = ProvenanceReader().origin_of
    x = torch.randn(2, 4, 6, 8).to("cuda:1")
    placement, _ = origin(x)
    results = list(leaves(compute(x)))
    assert placement and results
    states = results[1:]  # a network makes the states that it is not given
    assert origin(results[0])[0] == placement and all(origin(each)[0] for each in states)


def test_what_the_program_made_to_be_written_is_its_own():
    origin = ProvenanceReader().origin_of
    x = torch.randn(3, 3).to("cuda:1")
    made = torch.empty(3, device="cuda:1")
    before = origin(made)
    torch.mv(x, x[0], out=made)
    assert origin(made) == before != origin(x)


def leaves(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        yield result
    else:
        for each in result:
            yield from leaves(each)
