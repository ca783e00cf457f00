"""CUDA's fused attention kernels, by their own operators: what the definition gives, in CUDA's shapes and types."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

GPU = torch.device("cuda:1")
ATEN = torch.ops.aten


def tensors(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float16) -> list[torch.Tensor]:
    """Random tensors on the GPU that want a gradient."""
    torch.manual_seed(0)
    return [torch.randn(shape).to(GPU, dtype).requires_grad_() for shape in shapes]


def expected(
    inputs: list[torch.Tensor], grad: torch.Tensor, mask: torch.Tensor | None = None, gqa: bool = False
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Output and gradients from the definition, in float32 on the CPU; heads before positions."""
    leaves = [tensor.detach().cpu().float().requires_grad_() for tensor in inputs]
    query, key, value = leaves
    if gqa:
        key, value = (t.repeat_interleave(query.shape[1] // t.shape[1], 1) for t in (key, value))
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    output = (scores if mask is None else scores + mask).softmax(-1) @ value
    output.backward(grad.detach().cpu().float())
    return output.detach(), [leaf.grad for leaf in leaves]


def causal(queries: int, keys: int, diagonal: int = 0) -> torch.Tensor:
    return torch.full((queries, keys), -torch.inf).triu(1 + diagonal)


def close(got: torch.Tensor, wanted: torch.Tensor, tolerance: float) -> None:
    assert got.device == GPU
    torch.testing.assert_close(got.detach().cpu().float(), wanted, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("is_causal", [False, True])
def test_flash_attention(is_causal: bool) -> None:
    inputs = tensors((2, 4, 10, 16), (2, 4, 10, 16), (2, 4, 10, 16))
    result = ATEN._scaled_dot_product_flash_attention(*inputs, 0.0, is_causal)
    output, logsumexp, starts_q, starts_k, longest_q, longest_k, rng_state, unused, debug_mask = result
    assert (starts_q, starts_k, longest_q, longest_k) == (None, None, 10, 10)
    assert (logsumexp.shape, logsumexp.dtype, logsumexp.device) == ((2, 4, 10), torch.float32, GPU)
    assert (rng_state.shape, rng_state.dtype, unused.dtype) == ((2,), torch.uint64, torch.uint64)
    assert debug_mask.shape == (0,)
    grad = torch.randn_like(output)
    output.backward(grad)
    wanted, gradients = expected(inputs, grad, causal(10, 10) if is_causal else None)
    close(output, wanted, 4e-3)
    for tensor, gradient in zip(inputs, gradients, strict=True):
        close(tensor.grad, gradient, 1e-2)


@pytest.mark.parametrize("mask_type", [0, 1, 2])
@pytest.mark.parametrize("has_bias", [False, True])
def test_efficient_attention(mask_type: int, has_bias: bool) -> None:
    inputs = tensors((2, 10, 4, 16), (2, 12, 4, 16), (2, 12, 4, 16), dtype=torch.float32)
    bias = tensors((2, 4, 10, 12), dtype=torch.float32)[0] if has_bias else None
    output, logsumexp, _, _, longest_q, longest_k = ATEN._efficient_attention_forward(
        *inputs, bias, None, None, None, None, 0.0, mask_type, True
    )
    assert (logsumexp.shape, longest_q, longest_k) == ((2, 4, 32), 10, 12)
    grad = torch.randn_like(output)
    output.backward(grad)
    mask = torch.zeros(10, 12) if mask_type == 0 else causal(10, 12, 0 if mask_type == 1 else 2)
    turned = [tensor.detach().transpose(1, 2) for tensor in inputs]
    if bias is not None:
        wide = bias.detach().cpu().requires_grad_()
        mask = mask + wide
    wanted, gradients = expected(turned, grad.transpose(1, 2), mask)
    close(output, wanted.transpose(1, 2), 1e-5)
    for tensor, gradient in zip(inputs, gradients, strict=True):
        close(tensor.grad, gradient.transpose(1, 2), 1e-4)
    if bias is not None:
        close(bias.grad, wide.grad, 1e-4)


def test_cudnn_attention() -> None:
    inputs = tensors((2, 4, 10, 16), (2, 4, 10, 16), (2, 4, 10, 16), dtype=torch.bfloat16)
    result = ATEN._scaled_dot_product_cudnn_attention(*inputs, None, True, 0.0, True)
    assert result[1].shape == (2, 4, 10, 1)
    grad = torch.randn_like(result[0])
    result[0].backward(grad)
    wanted, gradients = expected(inputs, grad, causal(10, 10))
    close(result[0], wanted, 3e-2)
    for tensor, gradient in zip(inputs, gradients, strict=True):
        close(tensor.grad, gradient, 6e-2)


def test_sequences_of_several_lengths_and_shared_heads() -> None:
    inputs = tensors((13, 4, 16), (13, 2, 16), (13, 2, 16))
    starts = torch.tensor([0, 5, 13], dtype=torch.int32, device=GPU)
    output, logsumexp, *_ = ATEN._flash_attention_forward(*inputs, starts, starts, 8, 8, 0.0, True, False)
    assert logsumexp.shape == (4, 13)
    grad = torch.randn_like(output)
    output.backward(grad)
    for first, last in ((0, 5), (5, 13)):
        part = [tensor.detach()[first:last].transpose(0, 1)[None] for tensor in inputs]
        mask = causal(last - first, last - first)
        wanted, gradients = expected(part, grad[first:last].transpose(0, 1)[None], mask, gqa=True)
        close(output[first:last].transpose(0, 1)[None], wanted, 4e-3)
        for tensor, gradient in zip(inputs, gradients, strict=True):
            close(tensor.grad[first:last].transpose(0, 1)[None], gradient, 1e-2)


def test_the_mask_of_dropout_is_the_same_in_the_backward() -> None:
    query, key, value = tensors((1, 2, 8, 8), (1, 2, 8, 8), (1, 2, 8, 8), dtype=torch.float32)
    output, _, seed, offset = ATEN._scaled_dot_product_efficient_attention(query, key, value, None, True, 0.5)
    assert (seed.device.type, offset.device.type, seed.dtype) == ("cpu", "cpu", torch.int64)
    grad = torch.randn_like(output)
    output.backward(grad)
    # The output is linear in the value, so <grad, output> is <value.grad, value> if and only if the masks agree.
    torch.testing.assert_close((value.grad * value).sum(), (grad * output).sum())
    assert not torch.equal(output, ATEN._scaled_dot_product_efficient_attention(query, key, value, None, True, 0.5)[0])
    torch.cuda.manual_seed(7)
    with torch.cuda.device(GPU):
        torch.cuda.manual_seed(7)
        first = ATEN._scaled_dot_product_efficient_attention(query, key, value, None, True, 0.5)[0]
        torch.cuda.manual_seed(7)
        assert torch.equal(first, ATEN._scaled_dot_product_efficient_attention(query, key, value, None, True, 0.5)[0])


def test_a_window() -> None:
    inputs = tensors((1, 9, 2, 8), (1, 9, 2, 8), (1, 9, 2, 8))
    output = ATEN._flash_attention_forward(
        *inputs, None, None, 9, 9, 0.0, True, False, window_size_left=2, window_size_right=0
    )[0]
    grad = torch.randn_like(output)
    mask = causal(9, 9) + torch.full((9, 9), -torch.inf).tril(-3)
    wanted, _ = expected([tensor.detach().transpose(1, 2) for tensor in inputs], grad.transpose(1, 2), mask)
    close(output, wanted.transpose(1, 2), 4e-3)


@pytest.mark.parametrize(
    ("dtype", "width", "words"),
    [
        (torch.float32, 16, "FlashAttention only support fp16 and bf16 data type"),
        (torch.float16, 12, "head_size must be a multiple of 8, this is ensured by padding!"),
        (torch.float16, 264, "FlashAttention forward only supports head dimension at most 256"),
    ],
)
def test_flash_attention_refuses_what_cuda_refuses(dtype: torch.dtype, width: int, words: str) -> None:
    inputs = tensors(*[(1, 2, 4, width)] * 3, dtype=dtype)
    with pytest.raises(RuntimeError, match=words):
        ATEN._scaled_dot_product_flash_attention(*inputs)


def test_alibi_slopes_are_refused_by_name() -> None:
    inputs = tensors(*[(1, 4, 2, 8)] * 3)
    with pytest.raises(NotImplementedError, match=r"ALiBi slopes.*docs/limits\.md"):
        ATEN._flash_attention_forward(
            *inputs, None, None, 4, 4, 0.0, False, False, alibi_slopes=torch.rand(2, device=GPU)
        )


@pytest.mark.parametrize(
    ("backend", "dtype", "masked", "runs"),
    [
        (SDPBackend.FLASH_ATTENTION, torch.float16, False, True),
        (SDPBackend.FLASH_ATTENTION, torch.float16, True, False),
        (SDPBackend.FLASH_ATTENTION, torch.float32, False, False),
        (SDPBackend.EFFICIENT_ATTENTION, torch.float32, True, True),
        (SDPBackend.EFFICIENT_ATTENTION, torch.float64, False, False),
        (SDPBackend.CUDNN_ATTENTION, torch.bfloat16, False, True),
        (SDPBackend.CUDNN_ATTENTION, torch.float32, False, False),
        (SDPBackend.MATH, torch.float64, True, True),
    ],
)
def test_a_program_may_allow_one_backend(backend: SDPBackend, dtype: torch.dtype, masked: bool, runs: bool) -> None:
    query, key, value = tensors(*[(1, 2, 6, 8)] * 3, dtype=dtype)
    mask = torch.zeros(6, 6, dtype=dtype, device=GPU) if masked else None
    with sdpa_kernel([backend]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if runs:
            output = functional.scaled_dot_product_attention(query, key, value, mask)
            output.sum().backward()
            close(output, expected([query, key, value], torch.ones_like(output))[0], 4e-2)
        else:
            with pytest.raises(RuntimeError, match=r"No available kernel\. Aborting execution\."):
                functional.scaled_dot_product_attention(query, key, value, mask)


@pytest.mark.parametrize("shape", [(1, 4, 6, 6), (6, 6), (2, 1, 1, 6)])
@pytest.mark.parametrize("dropout", [0.0, 0.25])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_mask_may_want_a_gradient(shape: tuple[int, ...], dropout: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    given = [torch.randn(size, dtype=dtype) for size in (*[(2, 4, 6, 8)] * 3, shape)]
    for wants in ([True] * 4, [False, False, False, True]):
        results = []
        for device in ("cpu", GPU):
            leaves = [one.clone().to(device).requires_grad_(want) for one, want in zip(given, wants, strict=True)]
            torch.manual_seed(1)
            output = functional.scaled_dot_product_attention(*leaves[:3], attn_mask=leaves[3], dropout_p=dropout)
            output.float().pow(2).sum().backward()
            results.append([output, *(leaf.grad for leaf in leaves if leaf.requires_grad)])
        for theirs, ours in zip(*results, strict=True):
            assert ours.device == GPU
            assert torch.equal(theirs, ours.cpu())


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.float16])
@pytest.mark.parametrize("backend", [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])
def test_a_mask_is_of_bool_or_float_or_of_the_querys_dtype(backend: SDPBackend, dtype: torch.dtype) -> None:
    query = tensors((1, 2, 8, 8), dtype=torch.bfloat16)[0]
    words = "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
    with sdpa_kernel(backend), pytest.raises(RuntimeError, match=f"^{words}"):
        functional.scaled_dot_product_attention(query, query, query, torch.zeros(8, 8, device=GPU).to(dtype))


@pytest.mark.parametrize(
    ("backend", "runs"), [(SDPBackend.FLASH_ATTENTION, False), (SDPBackend.EFFICIENT_ATTENTION, True)]
)
def test_a_fused_kernel_that_takes_a_mask_differentiates_it(backend: SDPBackend, runs: bool) -> None:
    query, key, value, mask = tensors(*[(1, 2, 8, 8)] * 4)
    with sdpa_kernel([backend]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if runs:
            functional.scaled_dot_product_attention(query, key, value, mask).sum().backward()
            assert mask.grad.abs().sum() > 0
        else:
            with pytest.raises(RuntimeError, match=r"No available kernel\. Aborting execution\."):
                functional.scaled_dot_product_attention(query, key, value, mask)


def test_what_torch_says_of_the_backends() -> None:
    query = torch.randn(1, 2, 6, 8, device=GPU, dtype=torch.float16)
    params = torch.backends.cuda.SDPAParams(query, query, query, None, 0.0, False, False)
    assert torch.backends.cuda.is_flash_attention_available()
    assert torch.backends.cuda.can_use_flash_attention(params)
    assert torch.backends.cuda.can_use_efficient_attention(params)
    wide = torch.backends.cuda.SDPAParams(*[query.float()] * 3, None, 0.0, False, False)
    with pytest.warns(UserWarning, match="Expected query, key and value to all be of dtype"):
        assert not torch.backends.cuda.can_use_flash_attention(wide, debug=True)


def test_jagged_tensors() -> None:
    parts = tensors((3, 16), (5, 16))
    nested = torch.nested.as_nested_tensor([part.detach() for part in parts], layout=torch.jagged).requires_grad_()
    heads = nested.unflatten(-1, [2, 8]).transpose(1, 2)
    output = functional.scaled_dot_product_attention(heads, heads, heads)
    for got, part in zip(output.unbind(), parts, strict=True):
        single = part.detach().unflatten(-1, [2, 8]).transpose(0, 1)[None]
        wanted, _ = expected([single] * 3, torch.ones_like(single))
        close(got[None], wanted, 4e-3)
    output.values().sum().backward()
    assert nested.grad.device == GPU


def test_the_mask_of_efficient_attentions_dropout_can_be_asked_for() -> None:
    query, key, value = (torch.rand(1, 2, 8, 16, device=GPU) for _ in range(3))
    output, _, seed, offset = torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, None, True, 0.4)
    mask = torch.empty(1, 2, 8, 8, device=GPU)
    torch.ops.aten._fill_mem_eff_dropout_mask_(mask, 0.4, seed.item(), offset.item())
    kept = (mask > 0.4).float()
    assert 0.3 < kept.mean().item() < 0.9
    weights = (query @ key.transpose(-2, -1) / 4).softmax(-1) * kept / 0.6
    torch.testing.assert_close(output, weights @ value, atol=1e-4, rtol=1e-4)
