"""Every operator of torch's own list: its first sample on an emulated GPU and on the CPU, forward and backward.

The results must agree to the last bit, and be where the operands are: on cuda:1, while cuda:0 is the current device.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils import _pytree as pytree

GPU = torch.device("cuda:1")
KNOWN = Path(__file__).with_name("known.txt")

# They draw numbers, or return memory as they find it: only the kind of result is compared.
RANDOM = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential", "geometric",
    "log_normal", "multinomial", "new_empty", "new_empty_strided", "nn.functional.alpha_dropout",
    "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
    "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d", "nn.functional.rrelu", "normal", "pca_lowrank", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "svd_lowrank", "uniform",
}  # fmt: skip

# MKL's results depend on where in memory its operands lie.
CLOSE = {"linalg.lstsq", "renorm"}


def known_failures() -> dict[str, str]:
    lines = [line for line in KNOWN.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {name: reason.strip() for name, _, reason in (line.partition(": ") for line in lines)}


def name_of(op: OpInfo) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def dtype_of(op: OpInfo) -> torch.dtype | None:
    """The type to try it with; none for what torch has for GPUs only, so that the CPU cannot say what is right."""
    if op.name.startswith("jiterator"):
        return None
    candidates = (torch.float32, torch.int64, torch.complex64, torch.bool)
    return next((dtype for dtype in candidates if op.supports_dtype(dtype, "cpu")), None)


def first_sample(op: OpInfo, dtype: torch.dtype | None) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    torch.manual_seed(0)
    differentiable = op.supports_autograd and dtype in (torch.float32, torch.complex64)
    sample = next(iter(op.sample_inputs("cpu", dtype, requires_grad=differentiable)), None)
    return None if sample is None else (sample.input, sample.args, sample.kwargs)


def on_gpu(value: Any) -> Any:
    """The same value on the GPU, its strides too."""
    if value == "cpu" or value == torch.device("cpu"):
        return GPU
    if not isinstance(value, torch.Tensor):
        return value
    moved = value.detach().to(GPU)
    if moved.layout == torch.strided and moved.stride() != value.stride() and 0 not in value.stride():
        moved = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=GPU).copy_(moved)
    return moved.requires_grad_(value.requires_grad)


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def evaluate(op: OpInfo, sample: Any) -> tuple[Any, Any]:
    """The operator's result, and the gradients of what it was given, for ones as the result's gradient."""
    value, args, kwargs = sample
    torch.manual_seed(1)
    result = op(value, *args, **kwargs)
    sources = [tensor for tensor in tensors(sample) if tensor.requires_grad]
    targets = [tensor for tensor in tensors(result) if tensor.requires_grad and tensor.layout == torch.strided]
    if not sources or not targets:
        return result, ()
    ones = [torch.ones_like(target) for target in targets]
    try:
        return result, torch.autograd.grad(targets, sources, ones, allow_unused=True)
    except RuntimeError as error:  # such a gradient is refused (linalg.eig), or there is none for this layout
        return result, str(error).partition("\n")[0]


def assert_same(expected: Any, got: Any, op: OpInfo) -> None:
    for ours, theirs in zip(pytree.tree_leaves(got), pytree.tree_leaves(expected), strict=True):
        if not isinstance(theirs, torch.Tensor):
            assert ours == theirs or ours != ours
            continue
        assert ours.device == GPU
        assert (ours.dtype, ours.shape, ours.layout) == (theirs.dtype, theirs.shape, theirs.layout)
        assert (ours.is_conj(), ours.is_neg()) == (theirs.is_conj(), theirs.is_neg())
        if ours.layout == torch.strided and ours.numel() > 1:
            assert ours.stride() == theirs.stride()
        if op.name not in RANDOM:
            tolerance = {} if op.name in CLOSE else {"rtol": 0.0, "atol": 0.0}
            torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), equal_nan=True, **tolerance)


def compare(op: OpInfo) -> None:
    sample = first_sample(op, dtype_of(op))
    if sample is None:
        return
    moved = pytree.tree_map(on_gpu, sample)
    expected = evaluate(op, sample)
    if tensors(sample):
        got = evaluate(op, moved)
    else:
        with GPU:
            got = evaluate(op, moved)
    assert_same(expected, got, op)


@pytest.mark.parametrize("op", [op for op in op_db if dtype_of(op) is not None], ids=name_of)
def test_an_operator_agrees_with_the_cpu(op: OpInfo) -> None:
    reason = known_failures().get(name_of(op))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if reason is None:
            compare(op)
            return
        try:
            compare(op)
        except Exception:
            pytest.xfail(reason)
    pytest.fail(f"{name_of(op)} agrees with the CPU now: remove its line from {KNOWN.name}")


def test_every_known_failure_is_an_operators() -> None:
    assert set(known_failures()) <= {name_of(op) for op in op_db}
