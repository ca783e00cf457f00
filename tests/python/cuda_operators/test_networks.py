"""Convolutions, normalizations, cells and dropout that only CUDA has, by their own operators."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

GPU = torch.device("cuda:1")
ATEN = torch.ops.aten


def leaf(*shape: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """The same random values on the CPU and on the GPU, both wanting a gradient."""
    host = torch.randn(shape, dtype=dtype).requires_grad_()
    return host, host.detach().to(GPU).requires_grad_()


def close(got: torch.Tensor, wanted: torch.Tensor, tolerance: float = 1e-5) -> None:
    assert got.device == GPU
    torch.testing.assert_close(got.detach().cpu().to(wanted.dtype), wanted.detach(), atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_synchronized_batch_norm_is_batch_norm_over_all_parts(dtype: torch.dtype) -> None:
    """Two parts, as two ranks of SyncBatchNorm hold them, against one BatchNorm over both."""
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    host = torch.randn(6, 3, 4, 5, dtype=wide).to(dtype).to(wide).requires_grad_()
    norm = torch.nn.BatchNorm2d(3, dtype=wide)
    torch.nn.init.normal_(norm.weight)
    wanted = norm(host)
    grad = torch.randn_like(wanted).to(dtype).to(wide)
    wanted.backward(grad)

    parts = [part.detach().to(GPU, dtype) for part in host.split([4, 2])]
    grads = [part.to(GPU, dtype) for part in grad.split([4, 2])]
    weight, bias = norm.weight.detach().to(GPU), norm.bias.detach().to(GPU)
    running_mean, running_var = torch.zeros(3, dtype=wide, device=GPU), torch.ones(3, dtype=wide, device=GPU)
    statistics = [torch.batch_norm_stats(part, norm.eps) for part in parts]
    assert statistics[0][0].dtype == wide
    counts = torch.tensor([80.0, 40.0], dtype=wide, device=GPU)
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        parts[0],
        torch.stack([s[0] for s in statistics]),
        torch.stack([s[1] for s in statistics]),
        running_mean,
        running_var,
        0.1,
        norm.eps,
        counts,
    )
    close(running_mean, norm.running_mean)
    close(running_var, norm.running_var)
    tolerance = 5e-3 if dtype == torch.float16 else 1e-5
    normal = [torch.batch_norm_elemt(part, weight, bias, mean, invstd, norm.eps) for part in parts]
    assert normal[0].dtype == dtype
    close(torch.cat(normal), wanted, tolerance)

    sums = [
        torch.batch_norm_backward_reduce(g, part, mean, invstd, weight, True, True, True)
        for g, part in zip(grads, parts, strict=True)
    ]
    close(sums[0][2] + sums[1][2], norm.weight.grad, 1e-4)
    close(sums[0][3] + sums[1][3], norm.bias.grad, 1e-4)
    made = [
        torch.batch_norm_backward_elemt(
            g, part, mean, invstd, weight, sums[0][0] + sums[1][0], sums[0][1] + sums[1][1], counts.to(torch.int32)
        )
        for g, part in zip(grads, parts, strict=True)
    ]
    close(torch.cat(made), host.grad, tolerance)


def test_gathering_one_count_for_all_parts() -> None:
    parts = torch.randn(3, 5, 2, device=GPU)  # part, element, channel
    statistics = [torch.batch_norm_stats(part, 0.0) for part in parts]
    mean, invstd = torch.batch_norm_gather_stats(
        parts, torch.stack([s[0] for s in statistics]), torch.stack([s[1] for s in statistics]), None, None, 0.1, 0.0, 5
    )
    whole = parts.cpu().reshape(15, 2)
    close(mean, whole.mean(0))
    close(invstd, whole.var(0, correction=0).rsqrt())


def test_cudnn_convolution_and_its_gradients() -> None:
    (host, gpu), (host_weight, gpu_weight) = leaf(2, 4, 8, 8), leaf(6, 2, 3, 3)
    wanted = functional.conv2d(host, host_weight, None, 1, 1, 1, 2)
    got = torch.cudnn_convolution(gpu, gpu_weight, (1, 1), (1, 1), (1, 1), 2, False, False, False)
    close(got, wanted)
    wanted.sum().backward()
    got.sum().backward()
    close(gpu.grad, host.grad)
    close(gpu_weight.grad, host_weight.grad, 1e-4)
    close(torch.cudnn_convolution_relu(gpu, gpu_weight, None, (1, 1), (1, 1), (1, 1), 2), wanted.relu())
    added = torch.cudnn_convolution_add_relu(gpu, gpu_weight, got, 2.0, None, (1, 1), (1, 1), (1, 1), 2)
    close(added, (wanted * 3).relu())


def test_cudnn_convolution_transpose() -> None:
    (host, gpu), (host_weight, gpu_weight) = leaf(2, 4, 8, 8), leaf(4, 3, 3, 3)
    got = torch.cudnn_convolution_transpose(gpu, gpu_weight, (1, 1), (1, 1), (2, 2), (1, 1), 1, False, False, False)
    close(got, functional.conv_transpose2d(host, host_weight, None, 2, 1, 1))


def test_depthwise_convolutions() -> None:
    (host, gpu), (host_weight, gpu_weight) = leaf(2, 4, 8, 8), leaf(8, 1, 3, 3)
    got = torch._C._nn._conv_depthwise2d(gpu, gpu_weight, (3, 3), None, (1, 1), (1, 1), (1, 1))
    close(got, functional.conv2d(host, host_weight, None, 1, 1, 1, 4))
    (host, gpu), (host_weight, gpu_weight) = leaf(2, 3, 5, 5, 5), leaf(3, 1, 3, 3, 3)
    got = torch._C._nn.conv_depthwise3d(gpu, gpu_weight, (3, 3, 3), None, (1, 1, 1), (0, 0, 0), (1, 1, 1))
    close(got, functional.conv3d(host, host_weight, groups=3))
    with pytest.raises(RuntimeError, match="Depthwise weight should have in_channels=1, got 3"):
        torch._C._nn.conv_depthwise3d(
            gpu, torch.randn(3, 3, 3, 3, 3, device=GPU), (3, 3, 3), None, (1, 1, 1), (0, 0, 0), (1, 1, 1)
        )


def test_cudnn_batch_norm_and_samplers() -> None:
    (host, gpu), (host_weight, gpu_weight) = leaf(2, 3, 4, 4), leaf(3)
    output, mean, _, reserve = torch.cudnn_batch_norm(gpu, gpu_weight, None, None, None, True, 0.1, 1e-5)
    assert (mean.shape, reserve.dtype) == ((3,), torch.uint8)
    wanted = functional.batch_norm(host, None, None, host_weight, None, True)
    grad = torch.randn_like(wanted)
    output.backward(grad.to(GPU))
    wanted.backward(grad)
    close(output, wanted)
    close(gpu.grad, host.grad)
    close(gpu_weight.grad, host_weight.grad, 1e-4)
    theta = torch.randn(2, 2, 3)
    grid = torch.cudnn_affine_grid_generator(theta.to(GPU), 2, 3, 4, 4)
    wanted_grid = functional.affine_grid(theta, [2, 3, 4, 4], align_corners=True)
    close(grid, wanted_grid)
    close(torch.cudnn_grid_sampler(gpu, grid), functional.grid_sample(host, wanted_grid, align_corners=True), 1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_backward_of_the_fused_rms_norm(dtype: torch.dtype) -> None:
    gpu = torch.randn(3, 8, device=GPU, dtype=dtype)
    weight = torch.randn(8, device=GPU, dtype=dtype)
    host, host_weight = (t.cpu().float().requires_grad_() for t in (gpu, weight))
    functional.rms_norm(host, (8,), host_weight, 1e-6).sum().backward()
    rstd = (host.detach().square().mean(-1, keepdim=True) + 1e-6).rsqrt().to(GPU)
    for_input, for_weight = ATEN._fused_rms_norm_backward(torch.ones_like(gpu), gpu, [8], rstd, weight, [True, True])
    assert (for_input.dtype, for_weight.dtype) == (dtype, dtype)
    close(for_input, host.grad, 2e-2 if dtype == torch.bfloat16 else 1e-5)
    close(for_weight, host_weight.grad, 2e-2 if dtype == torch.bfloat16 else 1e-5)


def _lstm(
    input_gates: torch.Tensor, hidden_gates: torch.Tensor, cell: torch.Tensor, *biases: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    gates = (input_gates + hidden_gates + sum(biases)).chunk(4, 1)
    new = gates[1].sigmoid() * cell + gates[0].sigmoid() * gates[2].tanh()
    return gates[3].sigmoid() * new.tanh(), new


@pytest.mark.parametrize("biased", [False, True])
def test_the_fused_lstm_cell(biased: bool) -> None:
    pairs = [leaf(3, 16), leaf(3, 16), leaf(3, 4), *([leaf(16), leaf(16)] if biased else [])]
    hidden, cell, workspace = ATEN._thnn_fused_lstm_cell(*(gpu for _, gpu in pairs))
    wanted = _lstm(*(host for host, _ in pairs))
    assert workspace.shape == (3, 16)
    close(hidden, wanted[0])
    close(cell, wanted[1])
    (hidden * 2 + cell).sum().backward()
    (wanted[0] * 2 + wanted[1]).sum().backward()
    for host, gpu in pairs:
        close(gpu.grad, host.grad)


def test_the_fused_gru_cell() -> None:
    pairs = [leaf(3, 12), leaf(3, 12), leaf(3, 4), leaf(12), leaf(12)]
    hidden, workspace = ATEN._thnn_fused_gru_cell(*(gpu for _, gpu in pairs))
    from_input, from_hidden, before, input_bias, hidden_bias = (host for host, _ in pairs)
    left, right = (from_input + input_bias).chunk(3, 1), (from_hidden + hidden_bias).chunk(3, 1)
    reset, update = (left[0] + right[0]).sigmoid(), (left[1] + right[1]).sigmoid()
    fresh = (left[2] + reset * right[2]).tanh()
    wanted = fresh + update * (before - fresh)
    assert workspace.shape == (3, 20)
    close(hidden, wanted)
    hidden.sum().backward()
    wanted.sum().backward()
    for host, gpu in pairs:
        close(gpu.grad, host.grad)


def test_a_fused_cell_checks_its_sizes_in_cudas_words() -> None:
    gates = torch.randn(3, 16, device=GPU)
    with pytest.raises(RuntimeError, match="Expected tensor for argument #1 'input_gates' to have same size as"):
        ATEN._thnn_fused_lstm_cell(gates, torch.randn(3, 12, device=GPU), torch.randn(3, 4, device=GPU))


def test_fused_dropout() -> None:
    ones = torch.ones(1000, device=GPU, requires_grad=True)
    output, mask = torch._fused_dropout(ones, 0.7)
    assert mask.dtype == torch.uint8
    assert 600 < mask.sum() < 800
    close(output, mask.cpu() / 0.7)
    output.sum().backward()
    close(ones.grad, mask.cpu() / 0.7)
    with pytest.raises(RuntimeError, match=r"mask should be torch\.uint8 dtype"):
        torch._masked_scale(ones, mask.bool(), 2.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        pytest.param(
            lambda x: torch.miopen_convolution(x, x, None, (1, 1), (1, 1), (1, 1), 1, False, False),
            "miopen_convolution: ATen not compiled with MIOpen support",
            id="miopen",
        ),
        pytest.param(
            lambda x: torch._cudnn_ctc_loss(x, x, [1], [1], 0, False, False),
            "cudnn_ctc_loss: ATen not compiled with cuDNN >= 7 support",
            id="ctc",
        ),
        pytest.param(
            lambda x: torch._cudnn_rnn_flatten_weight([x], 1, 1, 2, 1, 0, 1, False, False),
            "_cudnn_rnn_flatten_weight: ATen not compiled with cuDNN support",
            id="rnn",
        ),
    ],
)
def test_a_library_that_is_not_there_is_refused_in_torchs_words(call: object, words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        call(torch.rand(1, 1, 2, 2, device=GPU))  # type: ignore[operator]


def test_what_cannot_be_computed_names_itself() -> None:
    with pytest.raises(NotImplementedError, match=r"aten::_mixed_dtypes_linear .*docs/limits\.md"):
        ATEN._mixed_dtypes_linear(
            torch.rand(2, 32, device=GPU, dtype=torch.float16),
            torch.zeros(32, 16, device=GPU, dtype=torch.uint8),
            torch.rand(16, device=GPU, dtype=torch.float16),
        )
