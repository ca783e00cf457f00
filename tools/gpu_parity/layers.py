"""Layers, convolutions, linear algebra, and the steps of optimizers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from operands import Rows, tensor, whole
from torch import nn
from torch.nn import functional as f


def layers() -> Rows:

    image = (16, 64, 56, 56)
    for dtype in ("float32", "bfloat16"):
        of = partial(tensor, dtype=dtype)
        kind = getattr(torch, dtype)
        for name, layer, shape in (
            ("BatchNorm2d", lambda: nn.BatchNorm2d(64), image),
            ("GroupNorm", lambda: nn.GroupNorm(32, 64), image),
            ("InstanceNorm2d", lambda: nn.InstanceNorm2d(64, affine=True), image),
            ("LayerNorm", lambda: nn.LayerNorm(1024), (4096, 1024)),
            ("RMSNorm", lambda: nn.RMSNorm(1024), (4096, 1024)),
            ("Linear", lambda: nn.Linear(1024, 1024), (4096, 1024)),
            ("GELU", lambda: nn.GELU(), (4096, 1024)),
            ("MultiheadAttention", lambda: nn.MultiheadAttention(512, 8, batch_first=True), (8, 256, 512)),
            ("TransformerEncoderLayer", lambda: nn.TransformerEncoderLayer(512, 8, batch_first=True), (8, 256, 512)),
            ("LSTM", lambda: nn.LSTM(256, 512, 2, batch_first=True), (32, 64, 256)),
            ("LSTM, one layer", lambda: nn.LSTM(256, 512, 1, batch_first=True), (32, 64, 256)),
            ("LSTM, one wide layer", lambda: nn.LSTM(512, 1024, 1, batch_first=True), (32, 64, 512)),
            ("LSTM, one long layer", lambda: nn.LSTM(256, 512, 1, batch_first=True), (32, 128, 256)),
            ("LSTM, a larger batch", lambda: nn.LSTM(256, 512, 1, batch_first=True), (64, 64, 256)),
            (
                "LSTM, both ways, dropout",
                lambda: nn.LSTM(256, 512, 2, batch_first=True, bidirectional=True, dropout=0.1),
                (32, 64, 256),
            ),
            ("GRU", lambda: nn.GRU(256, 512, 2, batch_first=True), (32, 64, 256)),
            ("GRU, one layer", lambda: nn.GRU(256, 512, 1, batch_first=True), (32, 64, 256)),
            ("RNN", lambda: nn.RNN(256, 512, 1, batch_first=True), (32, 64, 256)),
            ("MaxPool2d", lambda: nn.MaxPool2d(2), image),
            ("AvgPool2d", lambda: nn.AvgPool2d(2), image),
            ("AdaptiveAvgPool2d", lambda: nn.AdaptiveAvgPool2d(1), image),
            ("Upsample, bilinear", lambda: nn.Upsample(scale_factor=2, mode="bilinear"), image),
            ("PReLU", lambda: nn.PReLU(), image),
            ("LocalResponseNorm", lambda: nn.LocalResponseNorm(5), image),
            ("ReflectionPad2d", lambda: nn.ReflectionPad2d(2), image),
        ):
            yield (
                f"{name} {dtype}",
                lambda layer=layer, shape=shape, of=of, kind=kind: partial(layer().to("cuda", kind), of(*shape)),
            )
        yield (
            f"Embedding {dtype}",
            lambda kind=kind: partial(nn.Embedding(30000, 512).to("cuda", kind), whole(30000, 32, 256)),
        )
        yield (
            f"EmbeddingBag {dtype}",
            lambda kind=kind: partial(nn.EmbeddingBag(30000, 512).to("cuda", kind), whole(30000, 1024, 16)),
        )
        for causal in (True, False):
            yield (
                f"attention, causal={causal} {dtype}",
                lambda of=of, causal=causal: partial(
                    f.scaled_dot_product_attention,
                    of(4, 16, 1024, 64),
                    of(4, 16, 1024, 64),
                    of(4, 16, 1024, 64),
                    is_causal=causal,
                ),
            )
        yield f"attention with a mask {dtype}", lambda of=of: partial(
            f.scaled_dot_product_attention, of(4, 16, 512, 64), of(4, 16, 512, 64), of(4, 16, 512, 64),
            of(1, 1, 512, 512, grad=False),
        )  # fmt: skip
        yield (
            f"attention with dropout {dtype}",
            lambda of=of: partial(
                f.scaled_dot_product_attention,
                of(4, 16, 512, 64),
                of(4, 16, 512, 64),
                of(4, 16, 512, 64),
                dropout_p=0.1,
            ),
        )


def convolutions() -> Rows:

    shapes = {
        "conv 3x3, 64 channels at 56": (lambda: nn.Conv2d(64, 64, 3, padding=1), (32, 64, 56, 56)),
        "conv 3x3, stride 2": (lambda: nn.Conv2d(128, 256, 3, 2, 1), (32, 128, 56, 56)),
        "conv 1x1": (lambda: nn.Conv2d(256, 64, 1), (32, 256, 56, 56)),
        "conv 7x7 of an image": (lambda: nn.Conv2d(3, 64, 7, 2, 3), (32, 3, 224, 224)),
        "conv of patches": (lambda: nn.Conv2d(3, 768, 16, 16), (32, 3, 224, 224)),
        "depthwise conv 7x7": (lambda: nn.Conv2d(96, 96, 7, padding=3, groups=96), (32, 96, 56, 56)),
        "grouped conv": (lambda: nn.Conv2d(128, 128, 3, padding=1, groups=32), (32, 128, 56, 56)),
        "dilated conv": (lambda: nn.Conv2d(256, 256, 3, padding=2, dilation=2), (8, 256, 28, 28)),
        "conv 3x3, 512 channels at 7": (lambda: nn.Conv2d(512, 512, 3, padding=1), (32, 512, 7, 7)),
        "transposed conv": (lambda: nn.ConvTranspose2d(128, 64, 2, 2), (32, 128, 28, 28)),
    }
    for name, (layer, shape) in shapes.items():
        for dtype, last in (("float32", False), ("bfloat16", False), ("bfloat16", True)):
            title = f"{name} {dtype}{', channels last' if last else ''}"

            def make(layer: Any = layer, shape: Any = shape, dtype: str = dtype, last: bool = last) -> Any:
                form = torch.channels_last if last else torch.contiguous_format
                made = layer().to("cuda", getattr(torch, dtype), memory_format=form)
                return partial(made, tensor(*shape, dtype=dtype, last=last).detach().requires_grad_())

            yield title, make
    for dtype in ("float32", "bfloat16"):
        yield (
            f"conv of sound {dtype}",
            lambda dtype=dtype: partial(
                nn.Conv1d(80, 768, 3, padding=1).to("cuda", getattr(torch, dtype)), tensor(4, 80, 3000, dtype=dtype)
            ),
        )
        yield (
            f"conv of volumes {dtype}",
            lambda dtype=dtype: partial(
                nn.Conv3d(16, 32, 3, padding=1).to("cuda", getattr(torch, dtype)),
                tensor(2, 16, 32, 64, 64, dtype=dtype),
            ),
        )


def algebra() -> Rows:

    for dtype in ("float32", "bfloat16"):
        of = partial(tensor, dtype=dtype)
        yield f"matmul {dtype}", lambda of=of: partial(torch.matmul, of(1024, 1024), of(1024, 1024))
        yield f"matmul of three dimensions {dtype}", lambda of=of: partial(torch.matmul, of(8, 512, 512), of(512, 512))
        yield f"bmm {dtype}", lambda of=of: partial(torch.bmm, of(16, 256, 256), of(16, 256, 256))
        yield f"bmm, broadcast {dtype}", lambda of=of: partial(torch.matmul, of(16, 1, 256, 256), of(1, 8, 256, 256))
        yield f"einsum {dtype}", lambda of=of: partial(torch.einsum, "bij,bjk->bik", of(16, 256, 256), of(16, 256, 256))
        yield (
            f"einsum of heads {dtype}",
            lambda of=of: partial(torch.einsum, "bqhd,bkhd->bhqk", of(4, 256, 8, 64), of(4, 256, 8, 64)),
        )
    one = partial(tensor, 512, 512)
    yield "inv", lambda: partial(torch.linalg.inv, one())
    yield "solve", lambda: partial(torch.linalg.solve, one(), one())
    yield "det", lambda: partial(torch.linalg.det, one())
    yield "qr", lambda: partial(torch.linalg.qr, one())
    yield "svd", lambda: partial(torch.linalg.svd, one(grad=False))
    yield "eigh", lambda: (lambda x: partial(torch.linalg.eigh, x @ x.T))(one(grad=False))
    yield (
        "cholesky",
        lambda: (lambda x: partial(torch.linalg.cholesky, x @ x.T + torch.eye(512, device="cuda")))(one(grad=False)),
    )
    yield "fft", lambda: partial(torch.fft.fft, tensor(1024, 1024))
    yield "rfft", lambda: partial(torch.fft.rfft, tensor(1024, 1024))
    yield "irfft", lambda: (lambda x: partial(torch.fft.irfft, torch.fft.rfft(x)))(tensor(1024, 1024, grad=False))
    yield "fft2", lambda: partial(torch.fft.fft2, tensor(1024, 1024))
    yield (
        "stft",
        lambda: partial(
            torch.stft,
            tensor(8, 32000, grad=False),
            400,
            160,
            window=torch.hann_window(400, device="cuda"),
            return_complex=True,
        ),
    )


def steps() -> Rows:

    def stepped(make: Callable[[Any], Any], dtype: Any = torch.float32) -> Callable[[], Any]:
        model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(4))).to("cuda", dtype)
        optimizer = make(model.parameters())
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)

        def step() -> None:
            optimizer.step()

        return step

    for name in (
        "SGD",
        "Adam",
        "AdamW",
        "Adagrad",
        "RMSprop",
        "Adamax",
        "NAdam",
        "RAdam",
        "Adadelta",
        "Adafactor",
        "ASGD",
        "Rprop",
    ):
        yield f"step of {name}", lambda name=name: stepped(lambda p: getattr(torch.optim, name)(p, lr=1e-3))
        if name in ("SGD", "Adam", "AdamW", "Adagrad"):
            yield (
                f"step of {name}, fused",
                lambda name=name: stepped(lambda p: getattr(torch.optim, name)(p, lr=1e-3, fused=True)),
            )
        if name in ("SGD", "Adam", "AdamW", "RMSprop"):
            yield (
                f"step of {name}, one at a time",
                lambda name=name: stepped(lambda p: getattr(torch.optim, name)(p, lr=1e-3, foreach=False)),
            )
    yield "step of SGD, momentum", lambda: stepped(lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9))
    yield "step of AdamW, bfloat16", lambda: stepped(torch.optim.AdamW, torch.bfloat16)
    yield "step of AdamW, amsgrad", lambda: stepped(lambda p: torch.optim.AdamW(p, amsgrad=True))
    yield "clip_grad_norm_", lambda: _clipping


def _clipping() -> None:

    model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(4))).to("cuda")
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
