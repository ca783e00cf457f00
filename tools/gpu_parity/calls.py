"""Losses, reductions, and calls that choose among elements."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from operands import Rows, filled, tensor, whole
from torch.nn import functional as f

N = 1 << 20


def losses() -> Rows:

    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "soft_margin_loss"):
        for dtype in ("float32", "bfloat16"):
            for reduction in ("mean", "none"):
                yield f"{name} {dtype} {reduction}", lambda name=name, dtype=dtype, reduction=reduction: partial(
                    getattr(f, name), tensor(1024, 1024, dtype=dtype), tensor(1024, 1024, dtype=dtype, grad=False),
                    reduction=reduction,
                )  # fmt: skip
    for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):
        yield (
            name,
            lambda name=name: partial(
                getattr(f, name),
                tensor(1024, 1024).detach().sigmoid().requires_grad_(),
                tensor(1024, 1024, grad=False).sigmoid(),
            ),
        )
    for dtype in ("float32", "bfloat16"):
        yield (
            f"cross_entropy {dtype}",
            lambda dtype=dtype: partial(f.cross_entropy, tensor(512, 32000, dtype=dtype), whole(32000, 512)),
        )
        yield (
            f"cross_entropy, smoothed {dtype}",
            lambda dtype=dtype: partial(
                f.cross_entropy, tensor(512, 32000, dtype=dtype), whole(32000, 512), label_smoothing=0.1
            ),
        )
        yield (
            f"cross_entropy, weights {dtype}",
            lambda dtype=dtype: partial(
                f.cross_entropy,
                tensor(512, 32000, dtype=dtype),
                whole(32000, 512),
                tensor(32000, dtype=dtype, grad=False),
            ),
        )
    yield "cross_entropy of images", lambda: partial(f.cross_entropy, tensor(8, 21, 256, 256), whole(21, 8, 256, 256))
    yield (
        "cross_entropy, probabilities",
        lambda: partial(f.cross_entropy, tensor(512, 32000), tensor(512, 32000, grad=False).softmax(1)),
    )
    yield "ctc_loss", lambda: partial(
        f.ctc_loss, tensor(200, 32, 64).detach().log_softmax(2).requires_grad_(), whole(63, 32, 30) + 1,
        filled(200, 32), filled(30, 32),
    )  # fmt: skip
    yield "cosine_similarity", lambda: partial(f.cosine_similarity, tensor(4096, 256), tensor(4096, 256))
    yield (
        "triplet_margin_loss",
        lambda: partial(f.triplet_margin_loss, tensor(4096, 256), tensor(4096, 256), tensor(4096, 256)),
    )
    yield "cdist", lambda: partial(torch.cdist, tensor(1000, 64), tensor(1000, 64))
    yield "normalize", lambda: partial(f.normalize, tensor(4096, 256))


def reductions() -> Rows:

    names = ("sum", "mean", "std", "var", "norm", "prod", "amax", "max", "argmax", "logsumexp", "median")
    for name in names:
        for dtype in ("float32", "bfloat16"):
            if name != "logsumexp":
                yield (
                    f"{name} of all {dtype}",
                    lambda name=name, dtype=dtype: partial(getattr(torch, name), tensor(N, dtype=dtype)),
                )
            yield (
                f"{name} of rows {dtype}",
                lambda name=name, dtype=dtype: partial(getattr(torch, name), tensor(1024, 1024, dtype=dtype), dim=1),
            )
            yield (
                f"{name} of columns {dtype}",
                lambda name=name, dtype=dtype: partial(getattr(torch, name), tensor(1024, 1024, dtype=dtype), dim=0),
            )
    for name in ("cumsum", "cumprod", "logcumsumexp", "softmax", "log_softmax", "cummax"):
        for dtype in ("float32", "bfloat16"):
            yield (
                f"{name} {dtype}",
                lambda name=name, dtype=dtype: partial(getattr(torch, name), tensor(1024, 1024, dtype=dtype), dim=1),
            )
    yield "cumsum of one row", lambda: partial(torch.cumsum, tensor(N), dim=0)
    yield "cumsum of integers", lambda: partial(torch.cumsum, whole(5, N), dim=0)
    for name in ("any", "all", "sum", "count_nonzero"):
        yield f"{name} of booleans", lambda name=name: partial(getattr(torch, name), tensor(N, grad=False) > 0)
    yield "isnan().any()", lambda: (lambda x: lambda: torch.isnan(x).any())(tensor(N, grad=False))
    yield "sum of integers", lambda: partial(torch.sum, whole(5, N).int())
    yield "equal", lambda: partial(torch.equal, tensor(N, grad=False), tensor(N, grad=False))
    yield "allclose", lambda: partial(torch.allclose, tensor(N, grad=False), tensor(N, grad=False))


def choices() -> Rows:

    flat = partial(tensor, N, grad=False)
    for name in ("sort", "argsort", "unique", "nonzero", "unique_consecutive", "bincount", "histc"):
        if name == "bincount":
            yield name, lambda: partial(torch.bincount, whole(1000, N))
        elif name != "histc":
            yield name, lambda name=name: partial(getattr(torch, name), flat())
            yield f"{name} of integers", lambda name=name: partial(getattr(torch, name), whole(1000, N))
        else:
            yield name, lambda: partial(torch.histc, flat())
    yield "sort of rows", lambda: partial(torch.sort, tensor(1024, 1024, grad=False))
    yield "sort of long rows", lambda: partial(torch.sort, tensor(32, 32000, grad=False), descending=True)
    yield "sort of bfloat16", lambda: partial(torch.sort, flat(dtype="bfloat16"))
    yield "topk", lambda: partial(torch.topk, tensor(64, 32000, grad=False), 50)
    yield "topk of one row", lambda: partial(torch.topk, flat(), 50)
    yield "kthvalue", lambda: partial(torch.kthvalue, flat(), 50)
    yield "quantile", lambda: partial(torch.quantile, flat(), 0.5)
    yield "multinomial", lambda: partial(torch.multinomial, tensor(64, 32000, grad=False).softmax(1), 1)
    yield "multinomial, without", lambda: partial(torch.multinomial, tensor(64, 1000, grad=False).softmax(1), 8)
    yield "randperm", lambda: partial(torch.randperm, N, device="cuda")
    yield "masked_select", lambda: (lambda x: partial(torch.masked_select, x, x > 0))(tensor(N))
    yield "x[mask]", lambda: (lambda x, m: lambda: x[m])(tensor(1024, 1024), tensor(1024, 1024, grad=False) > 0)
    yield "x[mask] of rows", lambda: (lambda x, m: lambda: x[m])(tensor(1024, 1024), tensor(1024, grad=False) > 0)
    yield "x[index]", lambda: (lambda x, i: lambda: x[i])(tensor(1024, 1024), whole(1024, 4096))
    yield "x[mask] = 0", lambda: _assigned
    yield "masked_fill", lambda: (lambda x: partial(torch.masked_fill, x, x > 0, 0.0))(tensor(N))
    yield (
        "masked_fill, broadcast",
        lambda: partial(torch.masked_fill, tensor(16, 256, 256), tensor(256, 256, grad=False) > 0, 0.0),
    )
    yield "where", lambda: (lambda x: partial(torch.where, x > 0, x, 0.0))(tensor(N))
    yield "index_select", lambda: partial(torch.index_select, tensor(1024, 1024), 0, whole(1024, 4096))
    yield "gather", lambda: partial(torch.gather, tensor(1024, 1024), 1, whole(1024, 1024, 512))
    yield (
        "scatter_add",
        lambda: partial(torch.scatter_add, tensor(1024, 1024), 0, whole(1024, 1024, 1024), tensor(1024, 1024)),
    )
    yield "index_add", lambda: partial(torch.index_add, tensor(1024, 1024), 0, whole(1024, 4096), tensor(4096, 1024))
    yield (
        "index_put, added",
        lambda: (lambda x, i, v: lambda: torch.index_put(x, (i,), v, accumulate=True))(
            tensor(1024, 1024), whole(1024, 4096), tensor(4096, 1024)
        ),
    )
    yield (
        "scatter_reduce",
        lambda: partial(
            torch.scatter_reduce, tensor(1024, 1024), 0, whole(1024, 1024, 1024), tensor(1024, 1024), "amax"
        ),
    )
    yield "repeat_interleave", lambda: partial(torch.repeat_interleave, tensor(4096, 256), whole(4, 4096), 0)
    yield "one_hot", lambda: partial(torch.nn.functional.one_hot, whole(1000, 4096), 1000)
    yield "searchsorted", lambda: partial(torch.searchsorted, flat().sort().values, flat())
    yield "tril", lambda: partial(torch.tril, tensor(1024, 1024))
    yield "roll", lambda: partial(torch.roll, tensor(1024, 1024), 3, 0)
    yield "flip", lambda: partial(torch.flip, tensor(1024, 1024), (0,))
    yield "cat", lambda: partial(torch.cat, [tensor(1024, 256) for _ in range(4)], 1)
    yield "bernoulli", lambda: partial(torch.bernoulli, flat().sigmoid())
    yield "dropout", lambda: partial(torch.nn.functional.dropout, tensor(N))
    yield "to bfloat16", lambda: (lambda x: lambda: x.to(torch.bfloat16))(tensor(N))
    yield "complex abs", lambda: (lambda x: lambda: x.abs())(tensor(N, dtype="complex64", grad=False))


def _assigned() -> Any:

    x = torch.zeros(1024, 1024, device="cuda")
    x[x == 0] = 1.0
    return x
