"""Layers of networks, whose composites choose among the kernels of several libraries."""

from __future__ import annotations

import pytest
import torch
from sentences import A, B, Case, check, longs, offending, ones, row, two
from torch import nn
from torch.nn import functional


def types(first: str, what: str, second: str) -> str:
    return f"Input type ({first}) and {what} type ({second}) should be the same"


def recurrent(name: str, first: str, second: str) -> str:
    """aten/src/ATen/native/RNN.h, check_attributes."""
    return (
        f"Input and {name} tensors are not at the same device, found input tensor at {first} and {name} tensor at "
        f"{second}"
    )


def attend(**on: str) -> torch.Tensor:
    query, key, value = (ones(1, 2, 3, 4, on=on.get(name, A)) for name in ("query", "key", "value"))
    mask = ones(3, 3, on=on["mask"]) if "mask" in on else None
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def convolve(input_on: str, weight_on: str, bias_on: str | None = None) -> torch.Tensor:
    bias = None if bias_on is None else ones(1, on=bias_on)
    return functional.conv2d(ones(1, 1, 4, 4, on=input_on), ones(1, 1, 2, 2, on=weight_on), bias)


CASES = [
    row(
        "cross_entropy",
        lambda: functional.cross_entropy(ones(2, 3, on="cuda:3"), longs(0, 1, on=B)),
        offending("target", B, "cuda:3", "nll_loss_forward"),
    ),
    row(
        "cross_entropy, weight",
        lambda: functional.cross_entropy(ones(2, 3, on=A), longs(0, 1, on=A), weight=ones(3)),
        offending("weight", "cpu", A, "nll_loss_forward"),
    ),
    row(
        "cross_entropy of images",
        lambda: functional.cross_entropy(ones(1, 3, 2, 2, on=A), torch.zeros(1, 2, 2, dtype=torch.long)),
        offending("target", "cpu", A, "_nll_loss2d_forward"),
    ),
    row(
        "layer_norm",
        lambda: functional.layer_norm(ones(2, 3, on=A), (3,), ones(3, on=B)),
        offending("weight", B, A, "_native_layer_norm"),
    ),
    row(
        "rms_norm",
        lambda: functional.rms_norm(ones(2, 3, on=A), (3,), ones(3, on=B)),
        offending("weight", B, A, "__fused_rms_norm"),
    ),
    row(
        "group_norm",
        lambda: functional.group_norm(ones(2, 4, 3, on=A), 2, ones(4)),
        offending("weight", "cpu", A, "_native_group_norm"),
    ),
    # Normalization.cpp chooses cuDNN's kernel for three dimensions and more.
    row(
        "batch_norm",
        lambda: nn.BatchNorm2d(4).to(B)(ones(2, 4, 3, 3, on=A)),
        offending("weight", B, A, "_cudnn_batch_norm"),
    ),
    row(
        "batch_norm of two dimensions",
        lambda: nn.BatchNorm1d(4)(ones(2, 4, on=A)),
        offending("weight", "cpu", A, "_native_batch_norm"),
    ),
    row(
        "batch_norm, input on the CPU",
        lambda: nn.BatchNorm2d(4).to(B)(ones(2, 4, 3, 3)),
        offending("weight", B, "cpu", "_native_batch_norm"),
    ),
    row("prelu", lambda: nn.PReLU().to(B)(ones(2, on=A)), offending("weight", B, A, "__prelu_kernel")),
    row(
        "grid_sample",
        lambda: functional.grid_sample(ones(1, 1, 4, 4, on=A), ones(1, 2, 2, 2), align_corners=False),
        offending("grid", "cpu", A, "_grid_sampler_2d"),
    ),
    row(
        "attention's mask",
        lambda: attend(mask="cpu"),
        offending("attn_bias", "cpu", A, "__scaled_dot_product_efficient_attention"),
    ),
    row("an LSTM cell", lambda: nn.LSTMCell(3, 4).to(A)(ones(2, 3, on=B)), offending("mat2", A, B, "mm")),
    row(
        "an LSTM cell, input on the CPU",
        lambda: nn.LSTMCell(3, 4).to(A)(ones(2, 3)),
        offending("mat1", "cpu", A, "addmm"),
    ),
    # A batch that MKL-DNN takes has its check; a single small image goes to torch's own kernel.
    row(
        "convolution, input on the CPU",
        lambda: functional.conv2d(ones(2, 1, 4, 4), ones(1, 1, 2, 2, on=A)),
        types("torch.FloatTensor", "weight", "torch.cuda.FloatTensor")
        + " or input should be a MKLDNN tensor and weight is a dense tensor",
    ),
    row(
        "convolution of a small CPU image",
        lambda: convolve("cpu", A),
        offending("weight", A, "cpu", "__slow_conv2d_forward"),
    ),
    row(
        "convolution, weight on the CPU",
        lambda: convolve(A, "cpu"),
        types("torch.cuda.FloatTensor", "weight", "torch.FloatTensor"),
    ),
    row(
        "convolution, bias on the CPU",
        lambda: convolve(A, A, "cpu"),
        types("torch.cuda.FloatTensor", "bias", "torch.FloatTensor"),
    ),
    row(
        "convolution of two types",
        lambda: functional.conv2d(ones(1, 1, 4, 4, on=A).half(), ones(1, 1, 2, 2, on=B)),
        types("torch.cuda.HalfTensor", "weight", "torch.cuda.FloatTensor"),
    ),
    row("convolution of two GPUs", lambda: convolve(A, B), offending("weight", B, A, "_cudnn_convolution")),
    row("convolution, bias on another GPU", lambda: convolve(A, A, B), two(A, B)),
    row(
        "transposed convolution",
        lambda: functional.conv_transpose2d(ones(1, 1, 4, 4, on=A), ones(1, 1, 2, 2, on=B)),
        offending("weight", B, A, "_cudnn_convolution_transpose"),
    ),
    row(
        "depthwise convolution",
        lambda: functional.conv2d(ones(1, 2, 4, 4, on=A), ones(2, 1, 2, 2, on=B), groups=2),
        offending("weight", B, A, "__conv_depthwise2d"),
    ),
    row(
        "attention",
        lambda: attend(key=B),
        "Expected query, key, and value to have the same device type, but got query.device: cuda:0 key.device: cuda:1 "
        "and value.device: cuda:0 instead.",
    ),
    row("an LSTM's input", lambda: nn.LSTM(3, 4).to(A)(ones(2, 1, 3)), recurrent("parameter", "cpu", A)),
    row("an LSTM on another GPU", lambda: nn.LSTM(3, 4).to(A)(ones(2, 1, 3, on=B)), recurrent("parameter", B, A)),
    row(
        "a GRU's hidden state",
        lambda: nn.GRU(3, 4).to(A)(ones(2, 1, 3, on=A), ones(1, 1, 4)),
        recurrent("hidden", A, "cpu"),
    ),
    row(
        "packed lengths",
        lambda: nn.utils.rnn.pack_padded_sequence(ones(3, 2, 1, on=A), longs(3, 1, on=A)),
        "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES)
def test_the_sentence_is_torchs(call: Case, message: str) -> None:
    check(call, message)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(
            lambda: functional.ctc_loss(ones(3, 1, 2, on=B), longs(1).view(1, 1), longs(3), longs(1)),
            id="ctc_loss moves its targets",
        ),
    ],
)
def test_what_cuda_allows_is_allowed(call: Case) -> None:
    assert call().device == torch.device(B)
